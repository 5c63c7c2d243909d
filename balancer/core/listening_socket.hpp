#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "agent/transport/keep_alive.hpp"

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

/// Why no unix socket may replace what is at a path.
inline constexpr std::string_view kOtherFile = "a file that is not a socket is there; it stays";

/// Whether anything but a socket is at the path, also a link: that is never removed for a unix
/// socket.
inline bool is_other_file(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && !S_ISSOCK(facts.st_mode);
}

}  // namespace karmad
