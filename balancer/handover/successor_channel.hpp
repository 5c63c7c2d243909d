#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "balancer/handover/channel.hpp"

namespace karmad {

/// The side of a takeover that starts: takes over from the process that listens at the takeover
/// socket. Blocks for at most some seconds.
class SuccessorChannel {
 public:
  /// Asks the running process for its sockets and for what it has learned. Nothing: no process
  /// listens at `path`. The error says why the takeover failed; the running process goes on then.
  static std::expected<std::optional<SuccessorChannel>, std::string> begin(const std::string& path);

  int former_pid() const { return former_pid_; }
  std::vector<Descriptor>& sockets() { return sockets_; }
  const std::string& learned() const { return learned_; }

  /// Tells the running process that this one accepts connections, except at the `unused` addresses,
  /// and waits until it accepts none any more. `not_told`: it goes on, so this process must end.
  /// `unconfirmed`: it has ended or hangs, so this process must go on.
  enum class Release : std::uint8_t { confirmed, unconfirmed, not_told };
  struct Ending {
    Release release = Release::confirmed;
    std::string why;  ///< why it is not confirmed
  };
  Ending finish(const std::vector<std::string>& unused);

 private:
  explicit SuccessorChannel(Channel channel) : channel_(std::move(channel)) {}
  std::expected<void, std::string> receive_offer();

  Channel channel_;
  int former_pid_ = 0;
  std::vector<Descriptor> sockets_;
  std::string learned_;
};

}  // namespace karmad
