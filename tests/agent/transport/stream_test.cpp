#include "agent/transport/stream.hpp"

#include <gtest/gtest.h>

#include <boost/asio/error.hpp>

#include "tests/agent/transport/stream_pair.hpp"

namespace karmad::test {
namespace {

struct Noting final : Stream {
  using Stream::Stream;
  void unexpected() override {
    ++surprises;
    how = last();
  }
  const Read& last_read() const { return last(); }
  int surprises = 0;
  Read how;
};

class Streams : public StreamPair<Noting> {
 protected:
  static Task<Stream::Read> read(Stream& from) { co_return co_await from.read(); }
};

TEST(Outgoing, ForgetsWhatWasSentAcrossItsTwoParts) {
  const struct {
    std::size_t sent;
    std::string_view head;
    std::string_view body;
  } cases[] = {{0, "abc", "defg"}, {1, "bc", "defg"}, {3, "", "defg"}, {5, "", "fg"}, {7, "", ""}};
  for (const auto& c : cases) {
    Outgoing out{"abc", "defg"};
    out.consume(c.sent);
    EXPECT_EQ(out.head, c.head);
    EXPECT_EQ(out.body, c.body);
    EXPECT_EQ(out.empty(), c.head.empty() && c.body.empty());
  }
}

TEST_F(Streams, AReadThatWasBegunIsPickedUpLater) {
  stream->start_read(into.data(), into.size());
  EXPECT_TRUE(stream->reading());
  say("hello");
  ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
  EXPECT_EQ(stream->surprises, 1);
  const auto got = result_of(loop, read(*stream));  // nothing has to be waited for
  EXPECT_EQ(std::string_view(into.data(), got.size), "hello");
  EXPECT_FALSE(got.error);
}

TEST_F(Streams, ReadIntoMemoryOfTheLoopWhenSomethingComes) {
  stream->start_read();
  loop.io.poll();
  EXPECT_TRUE(stream->arrived().empty());
  EXPECT_LT(stream->arrived().capacity(), Buffers::kSmall) << "who waits holds no memory";
  say("hello");
  ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
  EXPECT_EQ(stream->last_read().size, 5u);
  EXPECT_EQ(stream->arrived(), "hello");
  const std::string taken = std::move(stream->arrived());
  stream->start_read();
  leave();
  ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
  EXPECT_EQ(stream->last_read().error, asio::error::eof);
  EXPECT_TRUE(stream->arrived().empty());
}

TEST_F(Streams, ReadNoMoreThanTheirRoomAtOnce) {
  const std::string much(2 * Buffers::kSmall, 'x');
  say(much);
  std::string all;
  while (all.size() < much.size()) {
    stream->start_read();
    ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
    ASSERT_LE(stream->arrived().size(), Buffers::kSmall);
    all += std::exchange(stream->arrived(), {});
  }
  EXPECT_EQ(all, much);
}

TEST_F(Streams, NoticeAnEndThatCameWithTheLastBytes) {  // in one event
  stream->start_read();
  say("last");
  leave();
  ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
  EXPECT_EQ(std::exchange(stream->arrived(), {}), "last");
  stream->start_read();
  ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
  EXPECT_EQ(stream->last_read().error, asio::error::eof);
}

TEST_F(Streams, NoticeSuchAnEndAtOnceWhenSendingFails) {
  stream->start_read();
  say("last");
  leave();
  ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
  stream->start_read();
  Outgoing out{"next", {}};
  EXPECT_EQ(stream->write_now(out), asio::error::broken_pipe);
  loop.io.poll();  // no tick has ended
  EXPECT_FALSE(stream->reading());
  EXPECT_TRUE(stream->last_read().error);
  EXPECT_NE(stream->last_read().error, asio::error::operation_aborted);
}

TEST_F(Streams, NoticeSuchAnEndAlsoIfTheyReadOnLateOnly) {
  stream->start_read();
  say("last");
  leave();
  ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
  const auto later = Loop::now() + 3 * Deadlines::kTick;
  ASSERT_TRUE(turn_until(loop, [&] { return Loop::now() > later; }));
  stream->start_read();
  ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
  EXPECT_EQ(stream->last_read().error, asio::error::eof);
}

TEST_F(Streams, SendOnAfterSuchAnEnd) {  // the other side may have ended its sending half only
  stream->start_read();
  say("last");
  ::shutdown(other, SHUT_WR);
  ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
  const std::string body(8 << 20, 'x');
  std::optional<error_code> end;
  spawn([](Stream& to, Outgoing what, std::optional<error_code>& result) -> Task<void> {
    result = co_await to.write(what);
  }(*stream, {{}, body}, end));
  stream->start_read();
  ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
  EXPECT_EQ(stream->last_read().error, asio::error::eof);
  EXPECT_FALSE(end);  // it still waits for the other side to read
  stream->close();
  ASSERT_TRUE(turn_until(loop, [&] { return end.has_value(); }));
}

TEST_F(Streams, WithAPendingReadReportNothingUnexpected) {
  stream->start_read(into.data(), into.size());
  std::optional<Stream::Read> got;
  spawn([](Stream& from, std::optional<Stream::Read>& result) -> Task<void> {
    result = co_await from.read();
  }(*stream, got));
  EXPECT_FALSE(got);
  say("hi");
  ASSERT_TRUE(turn_until(loop, [&] { return got.has_value(); }));
  EXPECT_EQ(got->size, 2u);
  EXPECT_EQ(stream->surprises, 0);
}

TEST_F(Streams, NoticeAClosedPeerWithoutAPendingRead) {
  stream->start_read(into.data(), into.size());
  leave();
  ASSERT_TRUE(turn_until(loop, [&] { return stream->surprises == 1; }));
  EXPECT_EQ(stream->how.error, asio::error::eof);
}

TEST_F(Streams, CloseEndsWhatIsOutstandingAndMayBeRepeated) {
  stream->start_read(into.data(), into.size());
  stream->close();
  stream->close();
  EXPECT_FALSE(stream->open());
  const auto got = result_of(loop, read(*stream));
  EXPECT_EQ(got.error, asio::error::operation_aborted);
}

TEST_F(Streams, LiveUntilTheirLastOperationHasEnded) {
  stream->start_read(into.data(), into.size());
  auto* bare = stream.get();
  stream.reset();
  EXPECT_TRUE(bare->reading());  // the read holds it
  bare->close();
  stream = bare;
  ASSERT_TRUE(turn_until(loop, [&] { return !bare->reading(); }));
}

TEST_F(Streams, ReadNowTakesWhatIsThereAndDoesNotWait) {
  EXPECT_EQ(stream->read_now(into.data(), into.size()).error, asio::error::would_block);
  say("abc");
  EXPECT_EQ(stream->read_now(into.data(), 2).size, 2u);
  EXPECT_EQ(stream->read_now(into.data(), 16).size, 1u);
  leave();
  EXPECT_EQ(stream->read_now(into.data(), 16).error, asio::error::eof);
}

TEST_F(Streams, WriteWaitsUntilTheOtherSideHasTakenEverything) {
  const std::string head = "head";
  std::string body(4 << 20, 'x');
  body.back() = 'y';
  Outgoing out{head, body};
  EXPECT_EQ(stream->write_now(out), asio::error::would_block);
  EXPECT_LT(out.body.size(), body.size());  // a part of it is gone, the rest is left
  std::optional<error_code> end;
  spawn([](Stream& to, Outgoing what, std::optional<error_code>& result) -> Task<void> {
    result = co_await to.write(what);
  }(*stream, out, end));
  EXPECT_FALSE(end);
  std::string got;
  std::array<char, 65536> piece;
  ASSERT_TRUE(turn_until(loop, [&] {
    for (auto n = ::read(other, piece.data(), piece.size()); n > 0;
         n = ::read(other, piece.data(), piece.size()))
      got.append(piece.data(), static_cast<std::size_t>(n));
    return end && got.size() == head.size() + body.size();
  }));
  EXPECT_FALSE(*end);
  EXPECT_TRUE(got == head + body);
}

TEST_F(Streams, AWriteEndsWithAnErrorWhenTheOtherSideLeavesOrItIsClosed) {
  for (const bool leaves : {false, true}) {
    const std::string body(8 << 20, 'x');
    std::optional<error_code> end;
    spawn([](Stream& to, Outgoing what, std::optional<error_code>& result) -> Task<void> {
      result = co_await to.write(what);
    }(*stream, {{}, body}, end));
    EXPECT_FALSE(end);
    if (leaves) {
      leave();
    } else {
      stream->close();
    }
    ASSERT_TRUE(turn_until(loop, [&] { return end.has_value(); }));
    EXPECT_TRUE(*end);
    if (leaves) break;
    connect();
  }
}

}  // namespace
}  // namespace karmad::test
