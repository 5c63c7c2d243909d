#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

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

}  // namespace karmad
