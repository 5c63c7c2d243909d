#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace karmad {

/// Lets the kernel probe a silent peer, so that one that vanished without a word (a host without
/// power, a firewall that forgot the connection) is noticed after two minutes: after a minute of
/// silence it is asked every 15 s, four times. Of TCP only; accepted connections inherit it from
/// their listener.
inline void keep_alive(int socket) {
  const int on = 1;
  const int silent = 60;
  const int between = 15;
  const int probes = 4;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &silent, sizeof silent);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

}  // namespace karmad
