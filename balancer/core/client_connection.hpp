#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agent/dialect/rows/result_set.hpp"
#include "agent/transport/stream.hpp"
#include "balancer/core/forwarded.hpp"
#include "balancer/core/query.hpp"
#include "balancer/core/worker.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Longest SELECT that a connection keeps for SHOW META, PLAN and PROFILE.
inline constexpr std::size_t kLongestKeptSelect = 16 << 10;

/// What a client's connection keeps of its last SELECT. Used by its worker.
struct SqlSession {
  SelectMeta meta;     ///< at most 64 KiB, and a token of at most 64 KiB
  std::string select;  ///< its text; empty: there was none, or it was too long
};

/// Bytes of a request or an answer that a client must move per `network_timeout`.
inline constexpr std::size_t kPerTimeout = 64 << 10;

/// How long to wait for a client that takes in an answer: `timeout`, and twice as long for every
/// kPerTimeout that it has acknowledged, but at no time longer than kMost timeouts ahead. What
/// counts is what the client's system has acknowledged, not what this one holds for it. A system
/// acknowledges in steps, which may be far apart when its buffer is large and its program reads
/// slowly: therefore twice, so that one that reads kPerTimeout in each timeout is never given up.
/// Pure.
class ReaderPatience {
 public:
  static constexpr int kMost = 6;

  ReaderPatience(Micros timeout, std::uint64_t acknowledged, TimePoint now)
      : timeout_(timeout), acknowledged_(acknowledged), until_(now + timeout) {}

  /// So much has been acknowledged by now, in all.
  void progress(std::uint64_t acknowledged, TimePoint now) {
    if (acknowledged <= acknowledged_) return;
    constexpr std::uint64_t most = kMost * kPerTimeout;
    const auto more = static_cast<std::int64_t>(std::min(acknowledged - acknowledged_, most));
    acknowledged_ = acknowledged;
    const auto gained = 2 * timeout_ * more / static_cast<std::int64_t>(kPerTimeout);
    until_ = std::min(until_ + gained, now + kMost * timeout_);
  }
  TimePoint until() const { return until_; }

 private:
  Micros timeout_;
  std::uint64_t acknowledged_;
  TimePoint until_;
};

/// The connection of a client, whatever it speaks: the topology of its current request, the time
/// limits of its phases, and the query that ends when the client leaves. One thread.
class ClientConnection : public Stream, public Client {
 public:
  void drain() final;

 protected:
  enum class Phase : std::uint8_t { idle, reading, answering, writing, lingering };

  /// Calls on_half_closed() and on_client_left() while it lives. For times without a read.
  class Watch {
   public:
    explicit Watch(ClientConnection& of);
    Watch& operator=(Watch&&) = delete;
    ~Watch() { watcher_.forget(socket_); }

   private:
    void half_closed();

    ClientConnection& of_;
    DisconnectWatcher& watcher_;
    const int socket_;
    Stop half_;
    Stop whole_;
    Stop::Guard half_guard_;
    Stop::Guard whole_guard_;
  };

  /// `open_count` counts it while it lives.
  ClientConnection(Worker& worker, Socket socket, ClientAddress client,
                   std::atomic<std::uint32_t>& open_count);
  ~ClientConnection() override;

  /// Starts a phase that may take `longest`. An armed clock that expires early enough stays armed,
  /// because most phases end long before their time.
  void start_phase(Phase phase, Micros longest);
  /// Takes the current topology. A query keeps the one it started with.
  void take_settings();
  const InstanceSettings& settings() const { return settings_->settings; }
  /// Whether unread bytes have arrived.
  bool has_bytes();
  /// Sends the part of an answer that the socket did not accept at once, in pieces. A slow client
  /// may continue, one that does not read is disconnected (ReaderPatience). `memory` is null or
  /// that of the answer: if it is denied, the connection is broken off. `out` must stay valid.
  Task<bool> send_slowly(Outgoing out, const MemoryHolder* memory);

  /// Counts a handshake of TLS that has failed, and logs it with a limited number of lines per
  /// second.
  void report_tls_failure();

  /// The client sends no more. It may wait for its answer or have left, which looks the same: after
  /// a while it is sent something (ask_whether_there()). Within an answer with an open end nothing
  /// can be sent but its next piece; if that does not come for a while, the client has left.
  void on_half_closed();
  /// Ends the query, as its client has left.
  void on_client_left();
  /// For MemoryHolder::on_denied(), which is called within a reservation of this or another
  /// request: end_for_memory() runs later, from the event loop.
  void end_soon_for_memory();

  /// Sends what a client that waits reads over. The peer of a closed connection refuses it, and the
  /// watch learns that.
  virtual void ask_whether_there() = 0;
  /// A phase has taken its time: `timed_out_` is set.
  virtual void phase_timed_out() = 0;
  /// Cancels what the request waits for, if its memory is still denied.
  virtual void end_for_memory() = 0;
  /// Ends the connection so that the client does not take a part of an answer for the whole.
  virtual void break_off() = 0;

  Worker& worker_;
  std::shared_ptr<const Topology> settings_;  ///< topology of the current request
  const std::string client_;                  ///< its address as text; empty: a unix socket
  const std::optional<IpAddress> address_;    ///< likewise
  const std::uint16_t port_;                  ///< of the client, if it was told; else 0
  const bool is_told_;                        ///< the address is from a PROXY header
  Query* query_ = nullptr;                    ///< the one that runs
  std::unique_ptr<SqlSession> sql_session_;   ///< since the first SELECT
  std::uint64_t low_admissions_ = 0;          ///< its admitted requests of low priority
  Phase phase_ = Phase::idle;
  bool half_closed_ = false;    ///< the client has closed its sending side
  bool client_closed_ = false;  ///< it has left
  bool is_endless_ = false;  ///< sends a body without end; a client that leaves it is not counted
  bool is_open_ended_ = false;       ///< sends an answer whose end only the agent knows
  bool leaves_when_silent_ = false;  ///< closed its half within such an answer
  bool timed_out_ = false;
  bool ending_ = false;

 private:
  struct Clock final : Deadline {
    explicit Clock(ClientConnection& of) : connection(of) {}
    void expired() override { connection.on_clock(); }
    ClientConnection& connection;
  };
  void on_clock();

  std::atomic<std::uint32_t>& open_count_;
  Clock clock_{*this};                  ///< ends a phase at `due_`; may expire earlier
  TimePoint due_{};                     ///< the end of this phase
  TimePoint clock_at_{};                ///< when `clock_` expires
  ReaderPatience* patience_ = nullptr;  ///< while it waits for its client to read
};

}  // namespace karmad
