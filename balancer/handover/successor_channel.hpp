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

}  // namespace karmad
