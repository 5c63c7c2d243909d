#include "agent/transport/exchange.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/agent/transport/agent_at.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

using Then = Reaction::Then;
using enum Outcome;

constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

struct Exchanged {
  ExchangeResult result;
  Reply reply;
};

class Exchanges : public testing::Test {
 protected:
  Exchanged exchanged(Outgoing request = {kGet, {}}, bool to_head = false, Stop* stop = nullptr) {
    Exchanged result;
    Stop never(at.loop);
    auto connection = at.connection(Pool::From::fresh);
    finish(at.loop, exchange(at.loop, *connection, request, to_head, {.most = kMost},
                             stop != nullptr ? *stop : never, result.reply, result.result));
    connection->close();
    return result;
  }

  static constexpr std::size_t kMost = 1000;
  FakeMirror mirror{[](const std::string&) { return json("{}"); }};
  AgentAt at{mirror.port()};
};

TEST_F(Exchanges, EndAsTheReplyDeserves) {
  const std::string big(kMost + 1, 'x');
  const struct {
    std::string name;
    Reaction reaction;
    Outcome outcome;
    std::string_view body;
    bool keep = false;
    bool any_bytes = true;
  } cases[] = {
      {"a length", {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"}, answered, "abc", true},
      {"byte by byte",
       {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", Then::stay, 1},
       answered,
       "abc",
       true},
      {"no body", {"HTTP/1.1 204 X\r\n\r\n"}, answered, "", true},
      {"length 0", {"HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n"}, answered, "", true},
      {"chunks",
       {"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2;x\r\nbc\r\n0\r\nT: "
        "u\r\n\r\n"},
       answered,
       "abc",
       true},
      {"chunks, byte by byte",
       {"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
        Then::stay, 1},
       answered,
       "abc",
       true},
      {"until the end", {"HTTP/1.1 200 X\r\n\r\nabc", Then::close}, answered, "abc"},
      {"until the end, empty", {"HTTP/1.1 200 X\r\n\r\n", Then::close}, answered, ""},
      {"close",
       {"HTTP/1.1 200 X\r\nConnection: close\r\nContent-Length: 1\r\n\r\na"},
       answered,
       "a"},
      {"1.0", {"HTTP/1.0 200 X\r\nContent-Length: 1\r\n\r\na"}, answered, "a"},
      {"1.0 that stays",
       {"HTTP/1.0 200 X\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na"},
       answered,
       "a",
       true},
      {"too long", {"HTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\nabc"}, answered, "a"},
      {"more behind chunks",
       {"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nHTTP"},
       answered,
       "a"},
      {"interim",
       {"HTTP/1.1 100 X\r\n\r\nHTTP/1.1 103 X\r\nA: b\r\n\r\nHTTP/1.1 200 X\r\n"
        "Content-Length: 1\r\n\r\na"},
       answered,
       "a",
       true},
      {"the most",
       {fmt::format("HTTP/1.1 200 X\r\nContent-Length: {}\r\n\r\n{}", kMost, big.substr(1))},
       answered,
       std::string_view(big).substr(1),
       true},
      {"an error is an answer",
       {"HTTP/1.1 500 X\r\nContent-Length: 1\r\n\r\na"},
       answered,
       "a",
       true},

      {"too much announced",
       {fmt::format("HTTP/1.1 200 X\r\nContent-Length: {}\r\n\r\n", kMost + 1)},
       wrong_reply,
       ""},
      {"too much in chunks",
       {fmt::format("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                    big.size(), big)},
       wrong_reply,
       ""},
      {"too much until the end", {"HTTP/1.1 200 X\r\n\r\n" + big, Then::close}, wrong_reply, ""},
      {"garbage", {"garbage"}, wrong_reply, ""},
      {"bad chunks",
       {"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"},
       wrong_reply,
       ""},
      {"endless head", {"HTTP/1.1 200 X\r\nA: " + std::string(70'000, 'a')}, wrong_reply, ""},

      {"nothing", {"", Then::close}, closed_early, "", false, false},
      {"nothing, reset", {"", Then::reset}, broken, "", false, false},
      {"half a head", {"HTTP/1.1 2", Then::close}, closed_early, ""},
      {"half a body",
       {"HTTP/1.1 200 X\r\nContent-Length: 3\r\n\r\nab", Then::close},
       closed_early,
       ""},
      {"half a chunk",
       {"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", Then::close},
       closed_early,
       ""},
      {"other protocols",
       {"HTTP/1.1 101 X\r\nUpgrade: h2c\r\n\r\nHTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\na"},
       wrong_reply,
       ""},
      {"other protocols, after an interim answer",
       {"HTTP/1.1 100 X\r\n\r\nHTTP/1.1 101 X\r\n\r\n"},
       wrong_reply,
       ""},
      {"interim alone", {"HTTP/1.1 100 X\r\n\r\n", Then::close}, closed_early, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    mirror.react([c](const std::string&) { return c.reaction; });
    const auto [result, reply] = exchanged();
    EXPECT_EQ(result.outcome, c.outcome) << result.why;
    EXPECT_EQ(result.any_bytes, c.any_bytes);
    EXPECT_EQ(result.keep_connection, c.keep);
    EXPECT_EQ(result.why.empty(), c.outcome == answered) << result.why;
    if (c.outcome == answered) {
      EXPECT_EQ(reply.body(), c.body);
    }
  }
}

TEST_F(Exchanges, LeaveTheRestOfALongReplyOnTheConnectionIfTheyMay) {
  constexpr std::size_t kSize = 200'000;
  const std::string body(kSize, 'b');
  const struct {
    std::string name;
    std::size_t whole;
    int status;
    bool leaves;
  } cases[] = {
      {"longer than may be whole", kSize - 1, 200, true},
      {"not longer", kSize, 200, false},
      {"an error is read whole", kSize - 1, 404, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    mirror.react([&](const std::string&) { return json(body, c.status); });
    Stop never(at.loop);
    Reply reply;
    auto connection = at.connection(Pool::From::fresh);
    ExchangeResult result;
    Outgoing request{kGet, {}};
    finish(at.loop, exchange(at.loop, *connection, request, false,
                             {.most = kSize, .whole = c.whole}, never, reply, result));
    EXPECT_EQ(result.outcome, answered);
    EXPECT_TRUE(result.keep_connection);
    EXPECT_EQ(reply.left > 0, c.leaves);
    EXPECT_EQ(reply.left + reply.body().size(), kSize);
    EXPECT_GE(reply.body().size(), 64U << 10);
    connection->close();
  }
}

TEST_F(Exchanges, KeepTheFieldsOfErrorsAndWhereTheyAreAskedFor) {
  for (const auto& [status, asked_for] : {std::pair(200, false), {200, true}, {503, false}}) {
    mirror.react([status](const std::string&) {
      return Reaction{fmt::format(
          "HTTP/1.1 {} X\r\nX-Tag: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n",
          status)};
    });
    Stop never(at.loop);
    Reply reply;
    auto connection = at.connection(Pool::From::fresh);
    ExchangeResult result;
    Outgoing request{kGet, {}};
    finish(at.loop, exchange(at.loop, *connection, request, false,
                             {.most = kMost, .fields = asked_for}, never, reply, result));
    const bool kept = asked_for || status == 503;
    EXPECT_EQ(reply.field("x-tag"), kept ? "a" : "") << status;
    ResponseHead head;
    EXPECT_EQ(reply.restore(head), kept) << status;
    EXPECT_EQ(head.all().size(), kept ? 2U : 0U) << status;
    connection->close();
  }
}

TEST_F(Exchanges, ReadNoBodyAfterHead) {
  mirror.react([](const std::string&) {
    return Reaction{"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\nContent-Type: a/b\r\n\r\n"};
  });
  const auto [result, reply] = exchanged({"HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n", {}}, true);
  EXPECT_EQ(result.outcome, answered);
  EXPECT_TRUE(result.keep_connection);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body(), "");
  EXPECT_EQ(reply.content_type(), "a/b");
}

TEST_F(Exchanges, FollowOneAnotherOnAConnection) {
  mirror.react([](const std::string& request) { return json(request.substr(5, 1)); });
  for (int i = 0; i < 5; ++i) {
    Stop stop(at.loop);
    Reply reply;
    auto connection = at.connection();
    const auto request = fmt::format("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", i);
    Outgoing outgoing{request, {}};
    ExchangeResult result;
    finish(at.loop,
           exchange(at.loop, *connection, outgoing, false, {.most = kMost}, stop, reply, result));
    ASSERT_EQ(result.outcome, answered) << result.why;
    EXPECT_EQ(reply.body(), fmt::format("{}", i));
    ASSERT_TRUE(result.keep_connection);
    at.pool.give(std::move(connection));
  }
  EXPECT_EQ(mirror.connections(), 1u);
}

TEST_F(Exchanges, AreBrokenOffAtAnyPointWithTheReasonThatWasGiven) {
  const struct {
    StopReason why;
    Outcome outcome;
  } reasons[] = {{StopReason::query_timeout, query_timeout},
                 {StopReason::deadline, cancelled},
                 {StopReason::cancelled, cancelled}};
  for (const auto* sent :
       {"", "HTTP/1.1 2", "HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nab",
        "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab", "HTTP/1.1 200 X\r\n\r\nab"})
    for (const auto& reason : reasons) {
      SCOPED_TRACE(sent);
      mirror.react([sent](const std::string&) { return Reaction{sent, Then::hang}; });
      Stop stop(at.loop);
      stop.arm(Loop::now() + std::chrono::milliseconds(20), reason.why);
      const auto [result, reply] = exchanged({kGet, {}}, false, &stop);
      EXPECT_EQ(result.outcome, reason.outcome);
      EXPECT_FALSE(result.why.empty());
      EXPECT_FALSE(result.keep_connection);
    }
}

/// 16 MB do not fit into the buffers of two sockets, so sending takes long.
class LargeRequests : public Exchanges {
 protected:
  const std::string body = std::string(16'000'000, 'x');
  const std::string head =
      fmt::format("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.size());
};

TEST_F(LargeRequests, ArriveWhole) {
  const auto [result, reply] = exchanged({head, body});
  EXPECT_EQ(result.outcome, answered) << result.why;
  EXPECT_TRUE(result.keep_connection);
  ASSERT_EQ(mirror.requests(), 1u);
  EXPECT_TRUE(mirror.seen().front() == head + body);
}

TEST_F(LargeRequests, ThatAreAnsweredBeforeTheyWereReadAreAnswered) {
  mirror.react_to_heads();
  for (const auto then : {Then::stay, Then::close}) {
    mirror.react([then](const std::string&) {
      return Reaction{"HTTP/1.1 413 X\r\nContent-Length: 2\r\n\r\nno", then};
    });
    const auto [result, reply] = exchanged({head, body});
    EXPECT_EQ(result.outcome, answered) << result.why;
    EXPECT_EQ(reply.status, 413);
    EXPECT_EQ(reply.body(), "no");
    EXPECT_FALSE(result.keep_connection && then == Then::close);
  }
}

TEST_F(LargeRequests, AreBrokenOffWhileTheReplyIsMissing) {
  mirror.react_to_heads();
  mirror.react([](const std::string&) { return Reaction{"HTTP/1.1 1", Then::hang}; });
  Stop stop(at.loop);
  stop.arm(Loop::now() + std::chrono::milliseconds(20), StopReason::query_timeout);
  const auto [result, reply] = exchanged({head, body}, false, &stop);
  EXPECT_EQ(result.outcome, query_timeout);
  EXPECT_FALSE(result.keep_connection);
}

/// A body of these pieces, which break off or are slow to come.
class Pieces final : public BodyRest {
 public:
  Pieces(Loop& loop, std::vector<std::string> pieces) : loop_(loop), pieces_(std::move(pieces)) {}
  std::optional<std::uint64_t> length() const override { return std::nullopt; }
  bool begun() const override { return at_ > 0; }
  Task<bool> next(std::string& piece) override {
    co_await PostedTurn{loop_};
    piece = at_ < pieces_.size() ? pieces_[at_] : std::string();
    if (at_++ < pieces_.size() || ends_) co_return true;
    if (waits_ && !is_cancelled_) co_await cancelled_;
    co_return false;
  }
  void cancel() override {
    is_cancelled_ = true;
    cancelled_.notify();
  }
  void breaks_off() { ends_ = false; }
  void waits() { ends_ = false, waits_ = true; }

 private:
  Loop& loop_;
  std::vector<std::string> pieces_;
  std::size_t at_ = 0;
  bool ends_ = true;
  bool waits_ = false;
  bool is_cancelled_ = false;
  AsyncEvent cancelled_;
};

class StreamedExchanges : public Exchanges {
 protected:
  Exchanged streamed(Pieces& pieces, Micros patience = std::chrono::seconds(30)) {
    Exchanged result;
    Stop stop(at.loop);
    stop.arm(Loop::now() + patience, StopReason::query_timeout);
    auto connection = at.connection(Pool::From::fresh);
    Outgoing request{head, {}};
    finish(at.loop, exchange(at.loop, *connection, request, false, {.most = kMost}, stop,
                             result.reply, result.result, nullptr, {&pieces, patience}));
    connection->close();
    return result;
  }
  const std::string head =
      "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nConnection: x\r\n\r\n";
};

TEST_F(StreamedExchanges, SendWhatComesAndReadTheReply) {
  Pieces pieces(at.loop, {"abc", "defgh", "i"});
  const auto [result, reply] = streamed(pieces);
  EXPECT_EQ(result.outcome, answered) << result.why;
  EXPECT_TRUE(result.keep_connection);
  EXPECT_EQ(mirror.seen().front(), head + "abcdefghi");
}

TEST_F(StreamedExchanges, AreCancelledIfTheRestDoesNotCome) {
  Pieces pieces(at.loop, {"abc"});
  pieces.breaks_off();
  const auto [result, reply] = streamed(pieces);
  EXPECT_EQ(result.outcome, cancelled);
  EXPECT_FALSE(result.keep_connection);
  EXPECT_EQ(mirror.requests(), 0U);
}

TEST_F(StreamedExchanges, EndWithAReplyThatComesBeforeTheRest) {
  mirror.react_to_heads();
  mirror.react([](const std::string&) {
    return Reaction{"HTTP/1.1 413 X\r\nContent-Length: 2\r\n\r\nno", Then::hang};
  });
  Pieces pieces(at.loop, {"abc"});
  pieces.waits();
  const auto [result, reply] = streamed(pieces);
  EXPECT_EQ(result.outcome, answered) << result.why;
  EXPECT_EQ(reply.status, 413);
  EXPECT_FALSE(result.keep_connection);
}

TEST_F(StreamedExchanges, AreBrokenOffIfTheReplyDoesNotComeBehindTheRest) {
  mirror.react([](const std::string&) { return silence(); });
  Pieces pieces(at.loop, {"abcdefghi"});
  EXPECT_EQ(streamed(pieces, std::chrono::milliseconds(20)).result.outcome, query_timeout);
}

/// Returns the largest growth of `bytes` in one turn of the loop, until `ended`.
Background watch_turns(Loop& loop, const std::string& bytes, const bool& ended, std::size_t& most) {
  std::size_t before = bytes.size();
  while (!ended) {
    co_await PostedTurn{loop};
    most = std::max(most, bytes.size() - std::min(before, bytes.size()));
    before = bytes.size();
  }
}

// An agent that sends as fast as it is read must not keep the loop.
TEST_F(Exchanges, OfLongRepliesReadABoundedNumberOfBytesInATurn) {
  constexpr std::size_t kSize = 24 << 20;
  const std::string body(kSize, 'x');
  const std::string heads[] = {
      fmt::format("HTTP/1.1 200 X\r\nContent-Length: {}\r\n\r\n{}", kSize, body),
      fmt::format("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                  kSize, body),
      fmt::format("HTTP/1.1 200 X\r\n\r\n{}", body),
  };
  for (const auto& bytes : heads) {
    SCOPED_TRACE(bytes.substr(0, 40));
    mirror.react([&](const std::string&) { return Reaction{bytes, Then::close}; });
    Exchanged result;
    Stop never(at.loop);
    auto connection = at.connection(Pool::From::fresh);
    Outgoing request{kGet, {}};
    bool ended = false;
    std::size_t most = 0;
    watch_turns(at.loop, result.reply.bytes, ended, most);
    finish(at.loop, exchange(at.loop, *connection, request, false, {.most = kSize}, never,
                             result.reply, result.result));
    ended = true;
    turn_until(at.loop, [&] { return at.loop.io.poll_one() == 0; });
    connection->close();
    EXPECT_EQ(result.result.outcome, answered) << result.result.why;
    EXPECT_EQ(result.reply.body().size(), kSize);
    EXPECT_LE(most, LoopTurn::kMostBytes + Stream::kMostAtOnce);
  }
}

}  // namespace
}  // namespace karmad::test
