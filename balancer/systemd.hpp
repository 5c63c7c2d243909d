#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/transport/descriptor.hpp"
#include "balancer/core/worker.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// A descriptor that systemd has opened for this process (socket activation).
struct PassedDescriptor {
  int fd = -1;
  std::string name;  ///< FileDescriptorName= of the socket unit; empty: unknown
  bool operator==(const PassedDescriptor&) const = default;
};

/// The values of LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES; null: unset.
struct ListenVariables {
  const char* pid = nullptr;
  const char* fds = nullptr;
  const char* names = nullptr;
};

/// The descriptors they name: none if they are for another process. The error says which variable
/// is wrong.
std::expected<std::vector<PassedDescriptor>, std::string> passed_descriptors(
    const ListenVariables& variables, int own_pid);

// The messages of a service of `Type=notify` (sd_notify(3)), as values.

struct ServiceReady {
  std::string status;           ///< for `systemctl status`; one line
  std::optional<int> main_pid;  ///< set after a takeover: systemd follows this process from now on
};
std::string text(const ServiceReady& ready);
/// `monotonic`: the time of CLOCK_MONOTONIC at which the reload began.
std::string reloading_text(Micros monotonic);
std::string stopping_text(std::string_view status);
/// Asks systemd to hold the descriptors of the message under this name, which FDNAME allows, until
/// the service is stopped for good; and not to hold them any more.
std::string stored_text(std::string_view name);
std::string not_stored_text(std::string_view name);
/// The name for the listening sockets at this address.
std::string stored_name(std::string_view address);
/// Sent by the process that hands its service over.
std::string main_pid_text(int pid);

/// Sends these messages to the socket that systemd has given in NOTIFY_SOCKET: a path, or an
/// abstract name after `@`. Without one, or if the socket cannot be used, nothing is sent. Any
/// thread; never blocks.
class ServiceNotifier {
 public:
  ServiceNotifier() = default;
  explicit ServiceNotifier(std::string_view address);
  ServiceNotifier& operator=(ServiceNotifier&&) = delete;

  bool active() const { return bool{socket_}; }
  /// Returns whether it was sent. At most kMostSentAtOnce descriptors, which stay open here.
  bool send(std::string_view message, std::span<const int> descriptors = {}) const;

 private:
  Descriptor socket_;
};

/// The number in FDSTORE: how many descriptors systemd holds for the service; 0: none. systemd sets
/// it since version 254; the unit sets it for older ones.
std::size_t store_size(const char* fdstore);

/// The interval in which systemd wants a sign of life: WATCHDOG_USEC, if WATCHDOG_PID is unset or
/// one of these processes. Nothing: it wants none. `former`: the process that was taken over, or 0.
std::optional<Micros> watchdog_interval(const char* usec, const char* pid, int own, int former);

/// Sends a sign of life twice in the interval that systemd allows, as long as the loop of every
/// worker turns: each sign needs an answer of all workers. One hung worker ends the signs, and
/// systemd restarts the process. Belongs to the thread of `main`.
class Watchdog {
 public:
  /// Asks one worker: calls the job on its loop, some time.
  using Ask = std::function<void(std::size_t worker, Inbox::Job job)>;

  Watchdog(Loop& main, Micros interval, std::size_t workers, Ask ask,
           std::function<void()> sign_of_life);

  void start();
  /// From now on only this thread's life counts: the workers end, one after the other, within
  /// limits of their own.
  void workers_end() { workers_end_ = true; }
  void stop() { timer_.cancel(); }

 private:
  void tick();
  void ask_workers();

  Loop& main_;
  const Micros every_;
  const std::size_t workers_;
  const Ask ask_;
  const std::function<void()> sign_of_life_;
  asio::steady_timer timer_;
  std::atomic<std::size_t> unanswered_{0};
  bool asking_ = false;
  bool workers_end_ = false;
};

}  // namespace karmad
