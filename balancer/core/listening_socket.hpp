#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <expected>
#include <string>
#include <string_view>

#include "agent/transport/keep_alive.hpp"
#include "config/settings/settings.hpp"
#include "config/text/environment.hpp"

namespace karmad {

/// Bytes of an answer that the system holds unsent for a client, besides what is on its way. More
/// would be memory for slow readers only.
inline constexpr int kMostUnsent = 128 << 10;

/// Sets what the connections of a listening TCP socket inherit (tcp(7) on Linux): that costs no
/// system call for each of them.
inline void set_connection_options(int listener) {
  const int on = 1;
  ::setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(listener, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMostUnsent, sizeof kMostUnsent);
  keep_alive(listener);
}

/// Where a socket of TCP or a unix socket is bound: host as a number, or path, which may be empty.
inline std::expected<Address, std::string> local_address(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  const auto* const any = reinterpret_cast<const sockaddr*>(&bound);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    return std::unexpected(std::strerror(errno));
  Address address{.host = address_text(any), .port = 0, .unix_path = {}};
  if (bound.ss_family == AF_INET) {
    address.port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  } else if (bound.ss_family == AF_INET6) {
    address.port = ntohs(reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port);
  } else if (bound.ss_family == AF_UNIX) {
    constexpr auto kPathAt = offsetof(sockaddr_un, sun_path);
    const auto* const path = reinterpret_cast<const sockaddr_un*>(&bound)->sun_path;
    if (size > kPathAt) address.unix_path.assign(path, ::strnlen(path, size - kPathAt));
  } else {
    return std::unexpected("it is neither TCP nor a unix socket");
  }
  return address;
}

/// Why no unix socket may replace what is at a path.
inline constexpr std::string_view kOtherFile = "a file that is not a socket is there; it stays";

/// Whether anything but a socket is at the path, also a link: that is never removed for a unix
/// socket.
inline bool is_other_file(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && !S_ISSOCK(facts.st_mode);
}

}  // namespace karmad
