#include "balancer/handover/channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace karmad {
namespace {

using namespace std::chrono_literals;

Channel::Clock::time_point soon() {
  return Channel::Clock::now() + 20s;
}

struct Ends {
  Ends() {
    int sockets[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets), 0);
    one = Descriptor(sockets[0]);
    other = Descriptor(sockets[1]);
  }
  Descriptor one;
  Descriptor other;
};

TEST(TakeoverChannel, PassesAFrameWithItsDescriptors) {
  Ends ends;
  Channel from(std::move(ends.one));
  Channel to(std::move(ends.other));
  int pipes[2];
  ASSERT_EQ(::pipe2(pipes, O_CLOEXEC), 0);
  const Descriptor in(pipes[0]);
  Descriptor out(pipes[1]);
  const std::string large(3 << 20, 'x');
  std::thread sender([&] {
    const int passed[] = {out.get(), in.get()};
    EXPECT_TRUE(from.send(FrameKind::sockets, large, passed, soon()));
    EXPECT_TRUE(from.send(FrameKind::ready, "next", {}, soon()));
  });
  const auto frame = to.receive(soon());
  const auto next = to.receive(soon());
  sender.join();
  ASSERT_TRUE(frame) << frame.error();
  EXPECT_EQ(frame->kind, FrameKind::sockets);
  EXPECT_EQ(frame->text, large);
  ASSERT_EQ(frame->descriptors.size(), 2u);
  EXPECT_EQ(::write(frame->descriptors[0].get(), "y", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(in.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  ASSERT_TRUE(next);
  EXPECT_EQ(next->text, "next");
  EXPECT_EQ(to.peer().pid, ::getpid());
  EXPECT_EQ(to.peer().user, static_cast<std::int64_t>(::geteuid()));
}

TEST(TakeoverChannel, DoesNotWaitBeyondItsDeadline) {
  Ends ends;
  Channel to(std::move(ends.other));
  EXPECT_EQ(to.receive(Channel::Clock::now() + 20ms).error(),
            "the other side did not answer in time");
  Channel from(std::move(ends.one));
  EXPECT_EQ(from.send(FrameKind::learned, std::string(kMostFrameText, 'x'), {},
                      Channel::Clock::now() + 20ms)
                .error(),
            "the other side did not answer in time");
}

TEST(TakeoverChannel, ReportsAnEndAndWrongBytes) {
  Ends ends;
  Channel to(std::move(ends.other));
  ASSERT_EQ(::write(ends.one.get(), "GET / HTTP/1.0\r\n\r\n", 18), 18);
  EXPECT_EQ(to.receive(soon()).error(), "the other side is no karmad");
  ends.one = Descriptor();
  EXPECT_FALSE(to.receive(soon()));
}

TEST(TakeoverChannel, CountsTheDescriptorsThatWereAnnounced) {
  Ends ends;
  Channel to(std::move(ends.other));
  const auto head = encode({FrameKind::sockets, 0, 3});
  ASSERT_EQ(::write(ends.one.get(), head.data(), head.size()), 16);
  EXPECT_EQ(to.receive(soon()).error(), "a frame came with 0 descriptors, not 3");
}

TEST(TakeoverChannel, EndsItsWaitWhenTheProcessStops) {
  Ends ends;
  int pipes[2];
  ASSERT_EQ(::pipe2(pipes, O_CLOEXEC), 0);
  const Descriptor in(pipes[0]);
  const Descriptor out(pipes[1]);
  Channel to(std::move(ends.other), in.get());
  ASSERT_EQ(::write(out.get(), "x", 1), 1);
  EXPECT_EQ(to.receive(soon()).error(), "this process stops");
}

}  // namespace
}  // namespace karmad
