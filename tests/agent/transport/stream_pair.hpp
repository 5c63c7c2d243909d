#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "agent/transport/stream.hpp"
#include "tests/agent/transport/on_loop.hpp"

namespace karmad::test {

/// A stream of that class on a loop, and the other end of its socket.
template <class S>
class StreamPair : public testing::Test {
 protected:
  StreamPair() { connect(); }
  ~StreamPair() override {
    stream->close();
    loop.io.restart();
    loop.io.poll();
    if (other >= 0) leave();
  }
  /// A new stream instead of the one there was, whose other end is closed.
  void connect() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    if (other >= 0) leave();
    Socket socket(loop.io.get_executor(), Protocol(AF_UNIX, 0), ends[0]);
    socket.non_blocking(true);
    stream = new S(loop, std::move(socket));
    other = ends[1];
  }
  void say(std::string_view text) const {
    EXPECT_EQ(::write(other, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void leave() { ::close(std::exchange(other, -1)); }

  Loop loop{0, 1 << 20, 1};
  boost::intrusive_ptr<S> stream;
  int other = -1;
  std::array<char, 16> into{};
};

}  // namespace karmad::test
