#pragma once

#include <atomic>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "balancer/handover/channel.hpp"

namespace karmad {

/// The side of a takeover that starts: takes over from the process that listens at the takeover
/// socket. Blocks for at most some seconds.
class SuccessorChannel {
 public:
  /// Asks the running process for its sockets and for what it has learned. Nothing: no process
  /// listens at `path`. A process that ends meanwhile is no failure: what it has sent is used. The
  /// error says why the takeover failed; the running process goes on then.
  static std::expected<std::optional<SuccessorChannel>, std::string> begin(const std::string& path);

  int former_pid() const { return former_pid_; }
  /// Why the offer is incomplete, if the running process ended before it was; else empty.
  const std::string& ended() const { return ended_; }
  std::vector<Descriptor>& sockets() { return sockets_; }
  const std::string& learned() const { return learned_; }

  /// Tells the running process that this one accepts connections, except at the `unused` addresses,
  /// and waits until it accepts none any more. `not_told`: it goes on, so this process must end.
  /// `unconfirmed`: it has ended or hangs, so this process must go on. Only a process that still
  /// listens at the takeover socket counts as going on.
  enum class Release : std::uint8_t { confirmed, unconfirmed, not_told };
  struct Ending {
    Release release = Release::confirmed;
    std::string why;   ///< why it is not confirmed
    std::string more;  ///< what the running process has sent with its confirmation
  };
  Ending finish(const std::vector<std::string>& unused);

 private:
  SuccessorChannel(Channel channel, std::string path)
      : channel_(std::move(channel)), path_(std::move(path)) {}
  std::expected<void, std::string> receive_offer();
  bool former_has_ended() const;
  Ending lost(std::string why) const;

  Channel channel_;
  std::string path_;
  int former_pid_ = 0;
  std::string ended_;
  std::vector<Descriptor> sockets_;
  std::string learned_;
};

/// What a running process offers to its successor.
struct TakeoverOffer {
  std::vector<int> sockets;  ///< listening; they stay open here
  std::string learned;       ///< to_json(Learned)
};

/// A successor that accepts connections.
struct Successor {
  int pid = 0;
  std::vector<std::string> unused;  ///< addresses that it does not listen on
};

/// The side of a takeover that runs already: waits at a unix socket for successors of the same
/// user, one after the other, on a thread of its own. Nothing changes here until a successor is
/// ready; a successor that fails, hangs or asks wrongly is forgotten, with a line in the log.
class TakeoverService {
 public:
  struct Callbacks {
    /// Makes the offer, or says why there is none. On the thread of the service.
    std::function<std::expected<TakeoverOffer, std::string>()> offer;
    /// A successor accepts connections: this process must stop to. On the thread of the service,
    /// once; then the service has ended. Returns what the successor must know in addition.
    std::function<std::string(Successor)> release;
  };

  /// Listens at `path` with mode 0600; replaces a socket that is there. The error says why not.
  static std::expected<std::unique_ptr<TakeoverService>, std::string> open(const std::string& path,
                                                                           Callbacks callbacks);
  TakeoverService& operator=(TakeoverService&&) = delete;
  /// Ends a takeover in progress, and removes the socket, if it was not handed over.
  ~TakeoverService();

  /// A successor has asked and is neither ready nor forgotten. Any thread.
  bool offering() const { return offering_; }

 private:
  TakeoverService(Descriptor listener, Descriptor stop, std::string path, Callbacks callbacks);
  void run();
  std::expected<void, std::string> serve(Channel& channel);
  bool owns_path() const;

  Descriptor listener_;
  Descriptor stop_;  ///< an eventfd
  const std::string path_;
  const Callbacks callbacks_;
  std::uint64_t inode_ = 0;  ///< of the path
  std::atomic<bool> offering_{false};
  std::atomic<bool> released_{false};
  std::thread thread_;
};

}  // namespace karmad
