#include "balancer/handover/listen_match.hpp"

#include <algorithm>

namespace karmad {
namespace {

bool is_at(const ListenLine& line, const Address& bound) {
  if (line.address.is_unix() || bound.is_unix()) return line.address.unix_path == bound.unix_path;
  return std::ranges::find(line.hosts, bound.host) != line.hosts.end();
}

}  // namespace

SocketMatch match_sockets(std::span<const ListenLine> lines, std::span<const Address> sockets) {
  SocketMatch match{.of_line = std::vector<std::vector<std::size_t>>(lines.size())};
  std::vector<bool> taken(sockets.size());
  const auto take = [&](std::size_t line, auto is_wanted) {
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if (taken[i] || !is_at(lines[line], sockets[i]) || !is_wanted(sockets[i])) continue;
      match.of_line[line].push_back(i);
      taken[i] = true;
    }
  };
  const auto any_port = [&](const ListenLine& line) {
    return !line.address.is_unix() && line.address.port == 0;
  };
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!any_port(lines[i]))
      take(i, [&](const Address& bound) { return bound.port == lines[i].address.port; });
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!any_port(lines[i])) continue;
    std::uint16_t port = 0;
    take(i, [&](const Address& bound) {
      if (port == 0) port = bound.port;
      return bound.port == port;
    });
  }
  for (std::size_t i = 0; i < sockets.size(); ++i)
    if (!taken[i]) match.unused.push_back(i);
  return match;
}

}  // namespace karmad
