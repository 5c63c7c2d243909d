#include "balancer/handover/inherited_sockets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/transport/resolve.hpp"
#include "balancer/core/listening_socket.hpp"
#include "config/text/environment.hpp"

namespace karmad {
namespace {

bool is_at(const ListenLine& line, const Address& bound) {
  if (line.address.is_unix() || bound.is_unix()) return line.address.unix_path == bound.unix_path;
  return std::ranges::find(line.hosts, bound.host) != line.hosts.end();
}

ListenLine with_hosts(const Address& address) {
  ListenLine line{.address = address, .hosts = {}};
  if (address.is_unix()) return line;
  if (address.host.empty() || address.host == "*") {
    line.hosts = {"0.0.0.0", "::"};
  } else if (const auto found = resolve_now(address)) {
    for (const auto& endpoint : *found) line.hosts.push_back(address_text(endpoint.data()));
  }
  return line;
}

int option_of(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

/// Sets the options of open_listeners(): systemd or an older program opened the socket.
void adapt(int socket, int family, int backlog) {
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  if (family != AF_UNIX) set_connection_options(socket);
  ::listen(socket, backlog);
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

std::expected<Address, std::string> bound_address(int listener) {
  if (option_of(listener, SO_TYPE) != SOCK_STREAM || option_of(listener, SO_ACCEPTCONN) != 1)
    return std::unexpected("it is no listening socket for streams");
  auto bound = local_address(listener);
  if (bound && bound->host.empty() && !bound->is_unix())
    return std::unexpected("its unix socket has no path");
  return bound;
}

std::expected<void, std::string> InheritedSockets::add(Descriptor socket) {
  auto bound = bound_address(socket.get());
  if (!bound) return std::unexpected(std::move(bound).error());
  struct stat facts {};
  if (bound->is_unix() && ::stat(bound->unix_path.c_str(), &facts) != 0)
    return std::unexpected(fmt::format("the path {} does not lead to it any more", text(*bound)));
  if (::fstat(socket.get(), &facts) != 0) return std::unexpected(std::strerror(errno));
  if (std::ranges::find(sockets_, facts.st_ino, &Inherited::inode) == sockets_.end())
    sockets_.push_back({std::move(socket), *std::move(bound), facts.st_ino});
  return {};
}

std::vector<std::string> InheritedSockets::match(std::span<const Listen> lines) {
  std::vector<ListenLine> wanted;
  for (const auto& line : lines) wanted.push_back(with_hosts(line.address));
  std::vector<Address> bound;
  for (const auto& one : sockets_) bound.push_back(one.bound);
  auto match = match_sockets(wanted, bound);
  of_line_ = std::move(match.of_line);
  std::vector<std::string> unused;
  for (const auto one : match.unused) {
    unused.push_back(text(sockets_[one].bound));
    sockets_[one].socket = Descriptor();
  }
  std::ranges::sort(unused);
  unused.erase(std::ranges::unique(unused).begin(), unused.end());
  return unused;
}

std::expected<SharedSockets, std::string> InheritedSockets::take(std::size_t number,
                                                                 Address& address, unsigned workers,
                                                                 int backlog) {
  if (number >= of_line_.size() || of_line_[number].empty()) return SharedSockets();
  const auto& own = of_line_[number];
  const auto& first = sockets_[own.front()];
  if (!address.is_unix()) address.port = first.bound.port;
  SharedSockets shared(workers);
  const auto give = [&](std::size_t worker, int socket) {
    const int family = option_of(socket, SO_DOMAIN);
    shared[worker].push_back({socket, Protocol(family, family == AF_UNIX ? 0 : IPPROTO_TCP)});
  };
  std::vector<int> sockets;
  for (const auto one : own) {
    sockets.push_back(sockets_[one].socket.release());
    adapt(sockets.back(), option_of(sockets.back(), SO_DOMAIN), backlog);
  }
  for (std::size_t i = 0; i < sockets.size(); ++i) give(i % workers, sockets[i]);
  for (std::size_t i = sockets.size(); i < workers; ++i) {
    const int copy = ::fcntl(sockets[i % sockets.size()], F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return std::unexpected(std::strerror(errno));
    give(i, copy);
  }
  return shared;
}

}  // namespace karmad
