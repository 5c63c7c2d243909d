#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

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

}  // namespace karmad
