#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

using Then = Reaction::Then;

/// What becomes of a reply: it is taken, the other mirror is asked, or time runs out (a query that
/// timed out is not put again).
enum class End { taken, elsewhere, timeout };

struct Nasty {
  std::string name;
  Reaction reaction;
  End whole;            ///< for tables of one shard, whose answers pass through
  End merged;           ///< for tables of several, whose answers are read
  End opaque;           ///< for dialect http
  const char* counter;  ///< of the agent's status, where it is not taken
  bool at_head = false;
};

std::string hit(std::string_view source) {
  return fmt::format(R"({{"took":1,"timed_out":false,"hits":{{"total":1,"total_relation":"eq",)"
                     R"("hits":[{{"_id":1,"_score":1,"_source":{}}}]}}}})",
                     source);
}
const std::string kBody = hit(R"({"from":"nasty"})");

std::string head(std::string_view fields) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{}\r\n", fields);
}
std::string of_length(std::size_t length) {
  return head(fmt::format("Content-Length: {}\r\n", length));
}
std::string whole(std::string_view body) {
  return of_length(body.size()) + std::string(body);
}
std::string chunked(std::string_view body, std::size_t step) {
  auto out = head("Transfer-Encoding: chunked\r\n");
  for (std::size_t at = 0; at < body.size(); at += step)
    out += fmt::format("{:x}\r\n{}\r\n", std::min(step, body.size() - at), body.substr(at, step));
  return out + "0\r\nX-Trailer: t\r\n\r\n";
}

std::vector<Nasty> nasties() {
  using enum End;
  const auto size = kBody.size();
  const std::string brackets = hit(std::string(100'000, '['));
  const std::string balanced = hit(std::string(100'000, '[') + std::string(100'000, ']'));
  const std::string large = hit("\"" + std::string(20'000'000, 'x') + "\"");
  const std::string too_large = hit("\"" + std::string(32'000'000, 'x') + "\"");
  const auto* wrong = "wrong_replies";
  const auto* closing = "unexpected_closings";
  const auto* timeouts = "query_timeouts";
  return {
      // Unusual, and allowed.
      {"in chunks", {chunked(kBody, 7)}, taken, taken, taken, ""},
      {"in one chunk, byte by byte",
       {chunked(kBody, 1000), Then::stay, 1},
       taken,
       taken,
       taken,
       ""},
      {"until the end of the connection", {head("") + kBody, Then::close}, taken, taken, taken, ""},
      {"until the end, in HTTP/1.0",
       {"HTTP/1.0 200 OK\r\n\r\n" + kBody, Then::close},
       taken,
       taken,
       taken,
       ""},
      {"after interim answers",
       {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" +
        whole(kBody)},
       taken,
       taken,
       taken,
       ""},
      {"with names in odd case",
       {fmt::format(
           "HTTP/1.1 200\r\ncOnTeNt-LeNgTh:{}\r\nCONTENT-TYPE:\tapplication/JSON \r\n\r\n{}", size,
           kBody)},
       taken,
       taken,
       taken,
       ""},
      {"byte by byte", {whole(kBody), Then::stay, 1}, taken, taken, taken, ""},
      {"of 20 MB", {whole(large)}, taken, taken, taken, ""},
      {"of 20 MB in chunks", {chunked(large, 65536)}, taken, taken, taken, ""},
      {"of 20 MB until the end", {head("") + large, Then::close}, taken, taken, taken, ""},
      {"longer than it said",
       {of_length(size) + kBody + "HTTP/1.1 200 OK\r\n"},
       taken,
       taken,
       taken,
       ""},
      {"then closed though it said otherwise",
       {whole(kBody), Then::close},
       taken,
       taken,
       taken,
       ""},
      {"then reset", {whole(kBody), Then::close}, taken, taken, taken, ""},
      // Not HTTP, or not to be trusted.
      {"with two lengths",
       {head(fmt::format("Content-Length: {}\r\nContent-Length: 5\r\n", size)) + kBody},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with a length and chunks",
       {head(fmt::format("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", size)) + kBody},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with a folded field",
       {head("X: a\r\n b\r\n") + kBody},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with bad chunks",
       {head("Transfer-Encoding: chunked\r\n") + "zz\r\n"},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with a chunk of 2^64",
       {head("Transfer-Encoding: chunked\r\n") + "10000000000000000\r\n"},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with a head without end",
       {head("X-" + std::string(70'000, 'a') + ": b\r\n")},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with interim answers without end",
       [] {
         Reaction r;
         for (int i = 0; i < 50; ++i) r.bytes += "HTTP/1.1 102 Processing\r\n\r\n";
         return r;
       }(),
       elsewhere, elsewhere, elsewhere, wrong},
      {"that changes to another protocol",
       {"HTTP/1.1 101 X\r\nUpgrade: h2c\r\n\r\n" + whole(kBody)},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"that is no HTTP", {"220 mail.example ESMTP\r\n"}, elsewhere, elsewhere, elsewhere, wrong},
      {"of garbage", {std::string("\x00\xff\x16\x03", 4)}, elsewhere, elsewhere, elsewhere, wrong},
      {"HTTP/2", {"HTTP/2 200\r\n\r\n"}, elsewhere, elsewhere, elsewhere, wrong},
      {"of too many bytes", {whole(too_large)}, elsewhere, elsewhere, elsewhere, wrong},
      {"announced as too large",
       {of_length(999'999'999'999)},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"of too many bytes in chunks",
       {chunked(too_large, 1'000'000)},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"of too many bytes until the end",
       {head("") + too_large, Then::close},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      // Ended too soon.
      {"missing", {"", Then::close}, elsewhere, elsewhere, elsewhere, closing},
      {"missing, with a reset",
       {"", Then::reset},
       elsewhere,
       elsewhere,
       elsewhere,
       "network_errors"},
      {"cut in its head",
       {"HTTP/1.1 200 OK\r\nCont", Then::close},
       elsewhere,
       elsewhere,
       elsewhere,
       closing},
      {"shorter than it said",
       {of_length(size + 1) + kBody, Then::close},
       elsewhere,
       elsewhere,
       elsewhere,
       closing},
      {"reset in its middle",
       {of_length(size) + kBody.substr(0, 50), Then::reset},
       elsewhere,
       elsewhere,
       elsewhere,
       "network_errors"},
      {"cut in a chunk",
       {head("Transfer-Encoding: chunked\r\n") + "ff\r\nabc", Then::close},
       elsewhere,
       elsewhere,
       elsewhere,
       closing},
      {"without the last chunk",
       {head("Transfer-Encoding: chunked\r\n") + fmt::format("{:x}\r\n{}\r\n", size, kBody),
        Then::close},
       elsewhere,
       elsewhere,
       elsewhere,
       closing},
      // Never complete.
      {"that never comes", {"", Then::hang}, timeout, timeout, timeout, timeouts},
      {"that stops in its head",
       {"HTTP/1.1 200 OK\r\nCont", Then::hang},
       timeout,
       timeout,
       timeout,
       timeouts},
      {"that stops in its body",
       {of_length(size) + kBody.substr(0, 50), Then::hang},
       timeout,
       timeout,
       timeout,
       timeouts},
      {"that stops between chunks",
       {head("Transfer-Encoding: chunked\r\n") + "1\r\n{\r\n", Then::hang},
       timeout,
       timeout,
       timeout,
       timeouts},
      // HTTP, and nothing the client could use: the dialect's to judge.
      {"empty", {whole("")}, elsewhere, elsewhere, taken, wrong},
      {"that is no JSON",
       {whole("<html>Welcome to nginx!</html>")},
       elsewhere,
       elsewhere,
       taken,
       wrong},
      {"of another type",
       {fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{}",
                    size, kBody)},
       elsewhere,
       elsewhere,
       taken,
       wrong},
      {"cut within its JSON", {whole(kBody.substr(0, 60))}, elsewhere, elsewhere, taken, wrong},
      {"of broken JSON", {whole(R"({"hits":{"hits":[{]}})")}, taken, elsewhere, taken, wrong},
      {"without hits", {whole("{}")}, taken, elsewhere, taken, wrong},
      {"with hits of a wrong type", {whole(R"({"hits":7})")}, taken, elsewhere, taken, wrong},
      {"with brackets in a hit", {whole(brackets)}, taken, elsewhere, taken, wrong},
      {"with nested brackets in a hit", {whole(balanced)}, taken, elsewhere, taken, wrong},
      {"204", {"HTTP/1.1 204 No Content\r\n\r\n"}, elsewhere, elsewhere, taken, wrong},
      {"304", {"HTTP/1.1 304 Not Modified\r\n\r\n"}, elsewhere, elsewhere, taken, wrong},
      {"500 without a reason",
       {"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"503",
       {"HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nbusy"},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      // Before the request was read.
      {"at the head", {whole(kBody)}, taken, taken, taken, "", true},
      {"at the head, then closed", {whole(kBody), Then::close}, taken, taken, taken, "", true},
      {"of 20 MB at the head", {whole(large)}, taken, taken, taken, "", true},
      {"503 at the head",
       {"HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nbusy", Then::close},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong,
       true},
  };
}

enum class Kind { whole, merged, opaque };

class NastyMirror : public testing::TestWithParam<Kind> {
 protected:
  static End end_of(const Nasty& nasty) {
    return GetParam() == Kind::whole    ? nasty.whole
           : GetParam() == Kind::merged ? nasty.merged
                                        : nasty.opaque;
  }
  static std::string table(const std::string& mirrors, const FakeMirror& second) {
    switch (GetParam()) {
      case Kind::whole:
        return fmt::format("table t {{\n type = distributed\n agent = {}\n}}", mirrors);
      case Kind::merged:
        return fmt::format("table t {{\n type = distributed\n agent = {}\n agent = {}\n}}", mirrors,
                           second.address());
      default:
        return fmt::format(
            "table t {{\n type = distributed\n dialect = http\n route = /t\n"
            " agent = {}\n}}",
            mirrors);
    }
  }
  static Response ask(const Master& master) {
    return GetParam() == Kind::opaque ? get(master.port(), "/t/x")
                                      : master.search(R"({"table":"t"})");
  }
  /// As `ask`, with more than fits into the sockets' buffers on the way.
  static Response ask_large(const Master& master) {
    const std::string filler(6'000'000, ' ');
    return GetParam() == Kind::opaque
               ? test::ask(master.port(), "GET", "/t/x", filler)
               : master.search(R"({"table":"t",)" + filler + R"("limit":5})");
  }

  FakeMirror nasty{[](const std::string&) { return json("{}"); }};
  FakeMirror good{[](const std::string&) { return json(hit(R"({"from":"good"})")); }};
  FakeMirror second{[](const std::string&) {
    return json(R"({"took":1,"timed_out":false,"hits":{"total":1,"total_relation":"eq",)"
                R"("hits":[{"_id":2,"_score":2,"_source":{"from":"second"}}]}})");
  }};
  static constexpr auto kSettings =
      "workers = 1\n ha_strategy = roundrobin\n agent_query_timeout = 20s\n request_timeout = 30s\n"
      "max_packet_size = 30m\n ha_ping_interval = 0\n";
  /// For requests that are cancelled: the others have all the time they need on a slow machine.
  static constexpr auto kHasty =
      "workers = 1\n ha_strategy = roundrobin\n agent_query_timeout = 200ms\n"
      "ha_ping_interval = 0\n";
};

TEST_P(NastyMirror, CostsNoClientItsAnswerButWhenTimeRunsOut) {
  const auto tables = table(nasty.address() + "|" + good.address(), second);
  Master patient(kSettings, tables);
  Master hasty(kHasty, tables);
  for (const auto& c : nasties()) {
    SCOPED_TRACE("a reply " + c.name);
    const auto end = end_of(c);
    auto& master = end == End::timeout ? hasty : patient;
    nasty.react([c](const std::string&) { return c.reaction; });
    if (c.at_head) nasty.react_to_heads();
    const auto seen = nasty.requests();
    const auto retries = master.count("agent_retry");
    // Of two queries in a row it gets one first, at least.
    int from_nasty = 0;
    int from_good = 0;
    int lost = 0;
    for (int i = 0; i < 2; ++i) {
      const auto answer = c.at_head ? ask_large(master) : ask(master);
      const bool timed_out = answer.status == 504 || answer.body.contains("\"timed_out\":true");
      lost += timed_out;
      if (!timed_out) {
        EXPECT_LT(answer.status, 400) << answer.body.substr(0, 500);
        (answer.body.contains(R"("from":"good")") ? from_good : from_nasty) += 1;
        if (GetParam() == Kind::merged) {
          EXPECT_TRUE(answer.body.contains(R"("from":"second")"));
          EXPECT_FALSE(answer.body.contains("warning"));
        }
      } else {
        EXPECT_TRUE(answer.body.contains(nasty.address())) << answer.body;
      }
    }
    const auto asked = static_cast<int>(nasty.requests() - seen);
    EXPECT_GE(asked, 1);
    EXPECT_EQ(from_nasty, end == End::taken ? asked : 0);
    EXPECT_EQ(lost, end == End::timeout ? asked : 0);
    EXPECT_EQ(from_good, 2 - from_nasty - lost);
    EXPECT_EQ(master.count("agent_retry"), retries + (end == End::elsewhere ? asked : 0));
  }
  EXPECT_TRUE(eventually([&] { return patient.count("connections_open") == 1; }));
}

TEST_P(NastyMirror, AloneIsAClearErrorThatNamesItAndIsCounted) {
  Master patient(kSettings, table(nasty.address(), second));
  Master hasty(kHasty, table(nasty.address(), second));
  const auto statement = fmt::format("SHOW AGENT '{}' STATUS", nasty.address());
  for (const auto& c : nasties()) {
    const auto end = end_of(c);
    const auto& master = end == End::timeout ? hasty : patient;
    if (end == End::taken || c.at_head) continue;
    SCOPED_TRACE("a reply " + c.name);
    nasty.react([c](const std::string&) { return c.reaction; });
    const auto key = fmt::format("agent_1periods_{}", c.counter);
    const auto counted = master.count(key, statement);
    const auto answer = ask(master);
    EXPECT_EQ(master.count(key, statement), counted + 1);
    if (GetParam() == Kind::merged) {
      EXPECT_EQ(answer.status, 200);  // with a warning
      EXPECT_TRUE(answer.body.contains("warning"));
      EXPECT_TRUE(answer.body.contains(R"("from":"second")"));
    } else if (GetParam() == Kind::whole || !c.name.starts_with("50")) {
      EXPECT_EQ(answer.status, end == End::timeout ? 504 : 502);
    } else {
      EXPECT_EQ(answer.status / 100, 5);  // its own words
      continue;
    }
    EXPECT_TRUE(answer.body.contains(nasty.address())) << answer.body.substr(0, 500);
    EXPECT_LT(answer.body.size(), 2000u);
  }
}

TEST_P(NastyMirror, WhoClosesIdleConnectionsIsAskedOnANewOneWithoutBlame) {
  Master master(kSettings, table(nasty.address(), second));
  nasty.react([](const std::string&) { return json(kBody); });
  const auto statement = fmt::format("SHOW AGENT '{}' STATUS", nasty.address());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(ask(master).status, 200);
    nasty.close_all();
  }
  EXPECT_EQ(master.count("agent_errorsarow", statement), 0);
  EXPECT_EQ(master.count("agent_retry"), 0);
  EXPECT_EQ(nasty.connections(), 10u);
}

TEST_P(NastyMirror, WhoClosesJustAsARequestComesIsAskedAgainOnce) {
  Master master(kSettings, table(nasty.address(), second));
  std::size_t on_this_connection = 0;
  nasty.react([&](const std::string&) {  // the second request on a connection ends it
    const bool over = ++on_this_connection == 2;
    if (over) on_this_connection = 0;
    return over ? Reaction{"", Then::close} : json(kBody);
  });
  const auto statement = fmt::format("SHOW AGENT '{}' STATUS", nasty.address());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(master).status, 200) << i;
  EXPECT_EQ(master.count("stale_connections"), 4);
  EXPECT_EQ(master.count("agent_errorsarow", statement), 0);
  EXPECT_EQ(master.count("agent_retry"), 0);
}

std::string name_of(const testing::TestParamInfo<Kind>& kind) {
  return kind.param == Kind::whole ? "Whole" : kind.param == Kind::merged ? "Merged" : "Opaque";
}
INSTANTIATE_TEST_SUITE_P(Tables, NastyMirror,
                         testing::Values(Kind::whole, Kind::merged, Kind::opaque), name_of);

}  // namespace
}  // namespace karmad::test
