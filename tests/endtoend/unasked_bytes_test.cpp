// A mirror that sends more than it was asked for: every request carries a number, and each client
// gets the answer with its own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

using namespace std::chrono_literals;

const std::string kAlien = json(R"({"total":"alien"})").bytes;

enum class Ask { search, get, put };

/// A request for number `n`; its last six digits are the number.
std::string request(Ask ask, std::size_t n) {
  if (ask == Ask::get) return fmt::format("GET /web/{:06} HTTP/1.1\r\nHost: h\r\n\r\n", n);
  if (ask == Ask::put)
    return fmt::format("PUT /web/{:06} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", n);
  const auto body = fmt::format(R"({{"table":"t","n":"number/{:06}"}})", n);
  return fmt::format("POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}",
                     body.size(), body);
}

/// An answer of `size` bytes or a few more to a request that carries a number.
std::string answer(const std::string& request, std::size_t size, bool in_chunks) {
  const auto mark = request.find("number/");
  const auto number = mark != request.npos ? request.substr(mark + 7, 6)
                                           : request.substr(request.find("b/") + 2, 6);
  const auto body =
      fmt::format(R"({{"took":0,"timed_out":false,"hits":{{"total":{},"hits":[]}},"x":"{}"}})",
                  std::stoi("1" + number), std::string(size, 'x'));
  if (!in_chunks) return json(body).bytes;
  std::string out =
      "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size(); at += 9000)
    out += fmt::format("{:x}\r\n{}\r\n", std::min<std::size_t>(9000, body.size() - at),
                       body.substr(at, 9000));
  return out + "0\r\n\r\n";
}

Load::Ask expecting_own_number(Ask ask) {
  return [ask](HttpClient& client, std::size_t n) -> std::string {
    if (!client.send(request(ask, n))) return "not sent";
    const auto answer = client.receive();
    if (!answer) return "no answer";
    if (answer->status != 200) return fmt::format("{} {}", answer->status, answer->body);
    if (answer->body.contains(fmt::format(R"("total":1{:06},)", n))) return {};
    return fmt::format("{} got {}", n, answer->body.substr(0, 100));
  };
}

std::string tables(const FakeMirror& mirror) {
  return fmt::format(
      "table t {{\n type = distributed\n agent = {0}:t\n}}\n"
      "table web {{\n type = distributed\n dialect = http\n route = /web\n agent = {0}\n}}\n",
      mirror.address());
}

constexpr auto kFew =
    "workers = 1\n agent_max_connections = 2\n ha_ping_interval = 0\n agent_connect_timeout = 60s\n"
    "agent_query_timeout = 60s\n request_timeout = 60s";

TEST(UnaskedAnswers, AfterAnAnswerReachNoClientAlthoughConnectionsAreReused) {
  const struct {
    Ask ask;
    std::size_t size;
    bool in_chunks;
  } cases[] = {
      {Ask::search, 100, false},       {Ask::search, 20'000, false}, {Ask::search, 20'000, true},
      {Ask::search, 2'000'000, false}, {Ask::get, 20'000, false},    {Ask::get, 2'000'000, false},
      {Ask::put, 20'000, false},       {Ask::put, 20'000, true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {} {}", static_cast<int>(c.ask), c.size, c.in_chunks));
    FakeMirror mirror([&](const std::string& request) {
      Reaction reaction{answer(request, c.size, c.in_chunks)};
      // The end of the answer and what stands behind come together.
      reaction.held_from = reaction.bytes.size() - 1;
      reaction.bytes += kAlien;
      return reaction;
    });
    mirror.send_rest();
    const Master master(kFew, tables(mirror));
    {
      Load load(master.port(), 6, expecting_own_number(c.ask));
      EXPECT_TRUE(load.more(60));
      load.stop();
      EXPECT_EQ(load.wrong(), "");
    }
    const auto answers = static_cast<std::int64_t>(mirror.requests());
    EXPECT_EQ(master.count("unasked_bytes"), answers);
    const auto agents = fmt::format("SHOW AGENT '{}' STATUS", mirror.address());
    EXPECT_GE(master.count("agent_errorsarow", agents), answers);
    EXPECT_EQ(master.number(c.ask == Ask::search
                                ? "/tables/0/shards/0/mirrors/0/since_start/wrong_replies"
                                : "/tables/1/shards/0/mirrors/0/since_start/wrong_replies"),
              static_cast<double>(answers));
  }
}

TEST(UnaskedAnswers, ThatComeALittleLaterCloseTheIdleConnection) {
  FakeMirror mirror([](const std::string& request) {
    Reaction reaction{answer(request, 20'000, false)};
    reaction.held_from = reaction.bytes.size();
    reaction.bytes += kAlien;
    return reaction;
  });
  const Master master(kFew, tables(mirror));
  HttpClient client(master.port());
  const auto ask = expecting_own_number(Ask::search);
  EXPECT_EQ(ask(client, 1), "");
  EXPECT_EQ(master.count("unasked_bytes"), 0);
  mirror.send_rest();
  ASSERT_TRUE(eventually([&] { return master.count("unasked_bytes") == 1; }));
  EXPECT_EQ(master.word("/tables/0/shards/0/mirrors/0/last_error"),
            "sent unrequested bytes on an idle connection");
  // From now on they follow at once, and no connection is used twice.
  for (std::size_t n = 2; n < 20; ++n) EXPECT_EQ(ask(client, n), "");
  EXPECT_EQ(mirror.connections(), 19U);
}

TEST(UnaskedAnswers, AreNoneWhereEveryAnswerEndsWhereItShould) {
  FakeMirror mirror([](const std::string& request) {
    return Reaction{answer(request, request.starts_with("PUT") ? 2'000'000 : 16'000, false)};
  });
  const Master master(kFew, tables(mirror));
  {
    Load load(master.port(), 4, expecting_own_number(Ask::search));
    Load updates(master.port(), 2, expecting_own_number(Ask::put));
    EXPECT_TRUE(load.more(200));
    EXPECT_TRUE(updates.more(10));
    load.stop();
    updates.stop();
    EXPECT_EQ(load.wrong() + updates.wrong(), "");
  }
  EXPECT_EQ(master.count("unasked_bytes"), 0);
  EXPECT_LE(mirror.connections(), 2U);
}

}  // namespace
}  // namespace karmad::test
