// Unrequested bytes from a mirror reach no client: each request carries a number, which its answer
// must carry too.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <charconv>

#include "agent/mirrors/attempt.hpp"
#include "tests/agent/transport/agent_at.hpp"
#include "tests/agent/transport/stream_pair.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

constexpr std::size_t kMost = 4 << 20;

enum class Framing { length, one_chunk, chunks };

/// The end of a request on a connection that an earlier one may have used.
ExchangeResult send(Loop& loop, Connection& connection, Outgoing& request) {
  Stop stop(loop);
  Reply reply;
  ExchangeResult result;
  finish(loop, exchange(loop, connection, request, false, {.most = kMost}, stop, reply, result));
  return result;
}

/// An answer of `size` bytes, or a few more, head included, that begins its body with the number.
std::string answer(Framing framing, std::size_t size, std::size_t number) {
  const auto text = fmt::format("{:06}", number);
  const std::string head = "HTTP/1.1 200 X\r\n";
  if (framing == Framing::length) {
    std::size_t body = size;
    std::string whole;
    do {  // the head grows with the number in it
      whole = fmt::format("{}Content-Length: {}\r\n\r\n", head, --body);
    } while (whole.size() + body > size);
    return whole + text + std::string(body - text.size(), 'x');
  }
  auto out = head + "Transfer-Encoding: chunked\r\n\r\n6\r\n" + text + "\r\n";
  const std::size_t most = framing == Framing::chunks ? 5000 : size;
  const std::string_view result = "0\r\n\r\n";
  while (out.size() + result.size() + 12 < size) {
    const auto chunk = std::min(most, size - out.size() - result.size() - 12);
    out += fmt::format("{:08x}\r\n{}\r\n", chunk, std::string(chunk, 'x'));
  }
  return out.append(result);
}

class UnaskedBytes : public testing::Test {
 protected:
  UnaskedBytes() { mirror.send_rest(); }

  AttemptRequest order_of(std::string_view target, std::string_view method = "GET") {
    return {.began = Loop::now(),
            .method = method,
            .target = target,
            .connect_timeout = kSoon,
            .query_timeout = kSoon,
            .deadline = Loop::now() + kSoon,
            .limits = {.most = kMost}};
  }

  /// Asks for number 0, 1, 2, each in the turn in which the answer before it ended.
  Task<void> ask_in_a_row(AgentAt& at, std::vector<AttemptResult>& ends, std::string_view method) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      Stop stop(at.loop);
      const auto target = fmt::format("/{}", i);
      const auto order = order_of(target, method);
      co_await attempt(at.loop, at.pool, order, stop, ends[i]);
    }
  }

  /// The mirror answers the first of three requests in a row with `extra` behind its answer.
  void expect_own_answers(const std::function<std::string(std::size_t)>& answer_to,
                          std::string_view extra, std::string_view method = "GET") {
    AgentAt at(mirror.port());
    mirror.react([&](const std::string& request) {
      std::size_t number = 0;
      const auto from = request.find('/') + 1;
      std::from_chars(request.data() + from, request.data() + request.size(), number);
      Reaction reaction{answer_to(number)};
      if (number != 0) return reaction;
      // The end of the answer and what stands behind come together.
      reaction.held_from = reaction.bytes.size() - 1;
      reaction.bytes += extra;
      return reaction;
    });
    std::vector<AttemptResult> ends(3);
    finish(at.loop, ask_in_a_row(at, ends, method));
    for (std::size_t i = 0; i < ends.size(); ++i) {
      EXPECT_EQ(ends[i].outcome, Outcome::answered) << ends[i].why;
      EXPECT_EQ(ends[i].unasked, i == 0);
      if (method == "GET" && ends[i].reply.status == 200) {
        EXPECT_EQ(ends[i].reply.body().substr(0, 6), fmt::format("{:06}", i));
      }
      EXPECT_LT(ends[i].reply.status, 500);
    }
    EXPECT_EQ(at.loop.unasked.get(), 1U);
    EXPECT_EQ(at.pool.idle(), 0U);
  }

  FakeMirror mirror{[](const std::string&) { return json("{}"); }, /*pings_too=*/true};
};

const std::string kShortAnswer = "HTTP/1.1 500 X\r\nContent-Length: 6\r\n\r\nalien!";

TEST_F(UnaskedBytes, AfterAnAnswerOfAnyLengthReachNoClient) {
  for (const auto framing : {Framing::length, Framing::one_chunk, Framing::chunks})
    for (const std::size_t around : {200U, 16U << 10, 32U << 10, 64U << 10, 256U << 10, 512U << 10})
      for (int off = -2; off <= 2; ++off)
        for (const auto& extra : {kShortAnswer, std::string("\r\n"), std::string("x")}) {
          const auto size = around + static_cast<std::size_t>(off + 2) - 2;
          SCOPED_TRACE(fmt::format("framing {}, {} bytes, {} more", static_cast<int>(framing), size,
                                   extra.size()));
          expect_own_answers([&](std::size_t n) { return answer(framing, size, n); }, extra);
          if (HasFailure()) return;
        }
}

TEST_F(UnaskedBytes, AfterABodyAsLongAsABufferReachNoClient) {
  for (const std::size_t body : {16384U - 1, 16384U, 65536U, 262144U, 262144U + 65536U}) {
    SCOPED_TRACE(body);
    expect_own_answers(
        [&](std::size_t n) {
          return fmt::format("HTTP/1.1 200 X\r\nContent-Length: {}\r\n\r\n{:06}{}", body, n,
                             std::string(body - 6, 'x'));
        },
        kShortAnswer);
  }
}

TEST_F(UnaskedBytes, AfterAnAnswerWithoutABodyReachNoClient) {
  const auto none = [](std::string_view head) {
    return [head = std::string(head)](std::size_t) { return head + "\r\n"; };
  };
  expect_own_answers(none("HTTP/1.1 204 X\r\n"), kShortAnswer);
  expect_own_answers(none("HTTP/1.1 304 X\r\nContent-Length: 7\r\n"), "0000000");
  expect_own_answers(none("HTTP/1.1 200 X\r\nContent-Length: 7\r\n"), "alien!!", "HEAD");
  // The head fills the room of the first read.
  const auto filling = "HTTP/1.1 204 X\r\nX: " + std::string(16383 - 23, 'x') + "\r\n";
  ASSERT_EQ(filling.size() + 2, 16383U);
  expect_own_answers(none(filling), kShortAnswer);
}

TEST_F(UnaskedBytes, ThatAreAnotherHeadReachNoClient) {
  for (const std::string extra :
       {"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 101 X\r\nUpgrade: h2c\r\n\r\n",
        "HTTP/1.1 200 X\r\n\r\n", "HTTP/1.1 200 X\r\nContent-Length: 100000\r\n\r\n"})
    expect_own_answers([](std::size_t n) { return answer(Framing::length, 20'000, n); }, extra);
}

TEST_F(UnaskedBytes, DoNotKeepAConnectionThatWasClosedBehindTheAnswer) {
  AgentAt at(mirror.port());
  mirror.react([](const std::string&) {
    return Reaction{answer(Framing::length, 16383, 0), Reaction::Then::close};
  });
  std::vector<AttemptResult> ends(3);
  finish(at.loop, ask_in_a_row(at, ends, "GET"));
  for (const auto& result : ends) {
    EXPECT_EQ(result.outcome, Outcome::answered) << result.why;
    EXPECT_FALSE(result.unasked);
  }
  EXPECT_EQ(at.loop.unasked.get(), 0U);
}

/// Whether bytes, or an end, are there to be read soon.
bool readable(Connection& connection) {
  pollfd waiting{connection.socket().native_handle(), POLLIN, 0};
  return ::poll(&waiting, 1, static_cast<int>(std::chrono::milliseconds(kSoon).count())) == 1;
}

/// A connection whose mirror has sent an answer, and holds back another one until send_rest().
class LateUnaskedBytes : public testing::Test {
 protected:
  LateUnaskedBytes() {
    mirror.react([this](const std::string&) {
      auto reaction = json("{}");
      if (asked++ == 0) {
        reaction.held_from = reaction.bytes.size();
        reaction.bytes += kShortAnswer;
      }
      return reaction;
    });
    EXPECT_EQ(ask().outcome, Outcome::answered);
    EXPECT_EQ(at.pool.idle(), 1U);
  }
  AttemptResult ask(bool repeatable = true) {
    AttemptResult result;
    Stop stop(at.loop);
    const AttemptRequest order{.began = Loop::now(),
                               .method = "POST",
                               .target = "/",
                               .body = "{}",
                               .repeatable = repeatable,
                               .connect_timeout = kSoon,
                               .query_timeout = kSoon,
                               .deadline = Loop::now() + kSoon,
                               .limits = {.most = kMost}};
    finish(at.loop, attempt(at.loop, at.pool, order, stop, result));
    return result;
  }

  std::atomic<int> asked{0};
  FakeMirror mirror{[](const std::string&) { return json("{}"); }};
  AgentAt at{mirror.port()};
};

TEST_F(LateUnaskedBytes, CloseAnIdleConnectionAndCountAgainstTheAgent) {
  mirror.send_rest();
  ASSERT_TRUE(turn_until(at.loop, [&] { return at.pool.idle() == 0; }));
  EXPECT_EQ(at.loop.unasked.get(), 1U);
  EXPECT_EQ(at.agent->counters.errors_in_a_row, 1U);
  EXPECT_EQ(at.agent->history.since_start().count(Counter::wrong_replies), 1U);
  EXPECT_NE(at.agent->last_error().find("unrequested bytes"), std::string::npos);
  const auto result = ask();
  EXPECT_EQ(result.outcome, Outcome::answered);
  EXPECT_EQ(result.reply.status, 200);
  EXPECT_FALSE(result.stale);
}

TEST_F(LateUnaskedBytes, ReachNoClientAfterTheFirstAnswerOfAnAgent) {
  auto& quiet = at.agent->counts.quiet;
  quiet = 0;
  at.pool.give(at.pool.take_idle());
  EXPECT_FALSE(at.pool.take_idle());
  EXPECT_EQ(at.pool.idle(), 1U);
  mirror.send_rest();
  ASSERT_TRUE(turn_until(at.loop, [&] { return at.loop.unasked.get() == 1; }));
  EXPECT_EQ(at.pool.idle(), 0U);
  EXPECT_EQ(quiet, 0U);
  EXPECT_EQ(ask().reply.status, 200);
}

TEST_F(LateUnaskedBytes, MakeEveryConnectionOfTheAgentServeOnlyOneRequestForAWhile) {
  auto& until = at.agent->counts.distrusted_until;
  mirror.send_rest();
  ASSERT_TRUE(turn_until(at.loop, [&] { return at.pool.idle() == 0; }));
  EXPECT_EQ(ask().outcome, Outcome::answered);
  EXPECT_EQ(at.pool.idle(), 0U);
  EXPECT_GT(until, 1);
  until = 1;  // long ago
  EXPECT_EQ(ask().outcome, Outcome::answered);
  EXPECT_EQ(at.pool.idle(), 1U);
}

TEST_F(LateUnaskedBytes, AreSeenBeforeAnUpdateGoesOut) {
  auto kept = at.pool.take_idle();
  auto& connection = *kept;
  at.pool.give(std::move(kept));
  mirror.send_rest();
  ASSERT_TRUE(readable(connection));
  const auto result = ask(/*repeatable=*/false);  // the loop has not turned since
  EXPECT_EQ(result.outcome, Outcome::answered);
  EXPECT_EQ(result.reply.status, 200);
  EXPECT_TRUE(result.unasked);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(at.loop.unasked.get(), 1U);
}

TEST_F(LateUnaskedBytes, KeepTheRequestBackThatIsAboutToGo) {
  auto connection = at.pool.take_idle();
  mirror.send_rest();
  ASSERT_TRUE(turn_until(at.loop, [&] { return connection->unasked() == Stream::Unasked::bytes; }));
  Outgoing request{"GET /x HTTP/1.1\r\nHost: a\r\n\r\n", {}};
  const auto result = send(at.loop, *connection, request);
  EXPECT_TRUE(result.unsent);
  EXPECT_TRUE(result.unasked);
  EXPECT_EQ(result.outcome, Outcome::wrong_reply);
  EXPECT_EQ(request.head.size(), 28U);  // nothing of it has left
  connection->close();
}

TEST(UnaskedBytesOfAFreshConnection, AreAWrongReply) {
  FakeMirror mirror([](const std::string&) { return json("{}"); });
  AgentAt at(mirror.port());
  auto connection = at.connection();
  EXPECT_EQ(connection->unasked(), Stream::Unasked::nothing);
  ASSERT_TRUE(eventually([&] { return mirror.open_connections() == 1; }));
  mirror.close_all();  // an end before the request is no answer either
  ASSERT_TRUE(turn_until(at.loop, [&] { return connection->unasked() == Stream::Unasked::end; }));
  Outgoing request{"GET /x HTTP/1.1\r\nHost: a\r\n\r\n", {}};
  const auto result = send(at.loop, *connection, request);
  EXPECT_TRUE(result.unsent);
  EXPECT_FALSE(result.unasked);
  EXPECT_EQ(result.outcome, Outcome::closed_early);
  connection->close();
}

class SilentStreams : public StreamPair<Stream> {};

TEST_F(SilentStreams, SendNothingAnyMoreOnceSomethingCame) {
  stream->expect_silence();
  stream->start_read();
  EXPECT_EQ(stream->look_for_unasked(), Stream::Unasked::nothing);
  say("x");
  EXPECT_EQ(stream->unasked(), Stream::Unasked::nothing);  // not read yet
  EXPECT_EQ(stream->look_for_unasked(), Stream::Unasked::bytes);
  ASSERT_TRUE(turn_until(loop, [&] { return stream->unasked() == Stream::Unasked::bytes; }));
  Outgoing out{"abc", {}};
  EXPECT_TRUE(stream->write_now(out));
  EXPECT_EQ(out.head, "abc");
}

TEST_F(SilentStreams, TakeWhatComesBehindTheirMessageForAnAnswer) {
  stream->expect_silence();
  stream->start_read();
  Outgoing out{"abc", {}};
  EXPECT_FALSE(stream->write_now(out));
  say("x");
  ASSERT_TRUE(turn_until(loop, [&] { return !stream->reading(); }));
  EXPECT_EQ(stream->unasked(), Stream::Unasked::nothing);
}

TEST_F(SilentStreams, LookBehindAMessageOnlyIfTheirLastReadFilledItsRoom) {
  say("abcde");
  EXPECT_EQ(stream->read_now(into.data(), 5).size, 5U);
  EXPECT_EQ(stream->behind(), Stream::Unasked::nothing);
  say("fgh");
  EXPECT_EQ(stream->read_now(into.data(), 2).size, 2U);
  EXPECT_EQ(stream->behind(), Stream::Unasked::bytes);
  say("ij");
  EXPECT_EQ(stream->read_now(into.data(), 5).size, 2U);
  say("k");  // after that read: no matter for it
  EXPECT_EQ(stream->behind(), Stream::Unasked::nothing);
  EXPECT_EQ(stream->read_now(into.data(), 1).size, 1U);
  leave();
  EXPECT_EQ(stream->behind(), Stream::Unasked::end);
}

}  // namespace
}  // namespace karmad::test
