#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "balancer/handover/channel.hpp"
#include "balancer/ingress/acceptor.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// A `listen` line, with the addresses that its host means: as numbers, without brackets. Empty for
/// a unix socket.
struct ListenLine {
  Address address;
  std::vector<std::string> hosts;
};

/// Which of the sockets that a process got belong to which line.
struct SocketMatch {
  std::vector<std::vector<std::size_t>> of_line;  ///< positions of sockets; empty: open it anew
  std::vector<std::size_t> unused;
};

/// Gives each line all sockets that are bound to its address and port, or its path. A line with
/// port 0 gets the sockets of the first other port at its address that no line names. `sockets`:
/// where they are bound.
SocketMatch match_sockets(std::span<const ListenLine> lines, std::span<const Address> sockets);

/// The sockets of a `listen` line, by worker. Every worker has at least one.
using SharedSockets = std::vector<std::vector<Listening>>;

/// Listening sockets that another process has opened: the one that is taken over, or systemd.
class InheritedSockets {
 public:
  /// Takes a socket; the error says why it cannot be used. A socket that is already there under
  /// another number is ignored.
  std::expected<void, std::string> add(Descriptor socket);
  bool empty() const { return sockets_.empty(); }

  /// Divides the sockets among these lines (match_sockets()); names are looked up. Closes those
  /// that belong to no line, and returns where they were bound, each address once.
  std::vector<std::string> match(std::span<const Listen> lines);
  /// The sockets of line `number`, shared by that many workers: fewer are duplicated, of more a
  /// worker gets several, as each socket has connections of its own in its queue. Sets `port` 0 to
  /// the port of the sockets. Empty: there are none. The error says why one cannot be shared.
  std::expected<SharedSockets, std::string> take(std::size_t number, Address& address,
                                                 unsigned workers, int backlog);

 private:
  struct Inherited {
    Descriptor socket;
    Address bound;
    std::uint64_t inode = 0;  ///< equal: the same socket
  };
  std::vector<Inherited> sockets_;
  std::vector<std::vector<std::size_t>> of_line_;
};

/// Where a socket is bound: host as a number, or path. The error says why it is no listening
/// socket of a kind that karmad has.
std::expected<Address, std::string> bound_address(int listener);

}  // namespace karmad
