#include "agent/transport/loop/loop_turn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <deque>

#include "tests/agent/transport/stream_pair.hpp"

namespace karmad::test {
namespace {

/// A stream of a loop that is as busy as a test wants it.
class Turns : public StreamPair<Stream> {
 protected:
  void make_busy() {
    while (!loop.turn.busy()) under_way.emplace_back(loop.turn);
  }
  std::string heard() const {
    std::array<char, 64> bytes;
    const auto size = ::read(other, bytes.data(), bytes.size());
    return size > 0 ? std::string(bytes.data(), static_cast<std::size_t>(size)) : std::string();
  }
  Task<void> send(std::string head, std::string_view body, error_code& error) {
    Outgoing out{head, body};
    error = co_await stream->send(out);
    ++sent;
  }
  std::deque<LoopTurn::InFlightGuard> under_way;
  int sent = 0;
};

TEST_F(Turns, AreNotWaitedForWhileLittleIsUnderWay) {
  error_code error = asio::error::would_block;
  spawn(send("head ", "body", error));
  EXPECT_EQ(sent, 1);
  EXPECT_FALSE(error);
  EXPECT_EQ(heard(), "head body");
}

TEST_F(Turns, EndWithTheMessagesInTheirOrder) {
  make_busy();
  std::array<error_code, 2> errors;
  errors.fill(asio::error::would_block);
  spawn(send("one and ", "", errors[0]));
  spawn(send("two", "", errors[1]));
  EXPECT_EQ(sent, 0);
  EXPECT_EQ(heard(), "");
  ASSERT_TRUE(turn_until(loop, [&] { return sent == 2; }));
  EXPECT_FALSE(errors[0]);
  EXPECT_FALSE(errors[1]);
  EXPECT_EQ(heard(), "one and two");
}

TEST_F(Turns, AreNotWaitedForByAMessageWithABodyOfItsOwn) {
  make_busy();
  error_code error = asio::error::would_block;
  spawn(send("head ", "body", error));
  EXPECT_EQ(sent, 1);
  EXPECT_FALSE(error);
  EXPECT_EQ(heard(), "head body");
}

TEST_F(Turns, TellTheSenderThatTheSocketIsClosed) {
  make_busy();
  error_code error;
  spawn(send("never", "", error));
  stream->close();
  ASSERT_TRUE(turn_until(loop, [&] { return sent == 1; }));
  EXPECT_EQ(error, asio::error::bad_descriptor);
}

/// Moves bytes in steps, as a body is read or sent.
Task<void> move_bytes(Loop& loop, std::size_t left, std::size_t& moved, char name,
                      std::string& order) {
  constexpr std::size_t kStep = Stream::kMostAtOnce;
  for (; left > 0; left -= kStep) {
    if (loop.turn.over()) co_await loop.turn.next();
    loop.turn.spend(kStep);
    moved += kStep;
    if (order.empty() || order.back() != name) order += name;
  }
}

/// Returns the largest growth of `moved` in one turn, until everything is moved.
Task<void> watch_turns(Loop& loop, const std::size_t& moved, std::size_t all, std::size_t& most) {
  for (std::size_t before = moved; before < all;) {
    co_await PostedTurn{loop};
    most = std::max(most, moved - before);
    before = moved;
  }
}

TEST_F(Turns, MoveABoundedNumberOfBytesOfAllBodiesTogether) {
  constexpr std::size_t kEach = 4 << 20;
  std::size_t moved = 0;
  std::size_t most = 0;
  std::string order;
  auto watching = watch_turns(loop, moved, 2 * kEach, most);
  spawn(move_bytes(loop, kEach, moved, 'a', order));
  spawn(move_bytes(loop, kEach, moved, 'b', order));
  finish(loop, std::move(watching));
  EXPECT_LE(most, LoopTurn::kMostBytes + Stream::kMostAtOnce);
  EXPECT_GT(order.size(), 8U) << order;  // in turns
}

}  // namespace
}  // namespace karmad::test
