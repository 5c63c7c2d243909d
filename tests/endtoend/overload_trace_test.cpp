// The trace of a request, attempt by attempt: sent on request, and logged.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

/// The trace of a search.
std::string trace_of(const RestingMaster& master, std::string_view fields = {}) {
  const auto answer = master.find("", std::string(kTraced).append(fields));
  EXPECT_EQ(answer.fields.count("x-karmad-trace"), 1u);
  return answer.fields.contains("x-karmad-trace") ? answer.fields.at("x-karmad-trace") : "{}";
}

/// One member of all its attempts, separated by blanks.
std::string all(const std::string& trace, const std::string& member) {
  std::string words;
  for (int i = 0; at(trace, fmt::format("/attempts/{}/shard", i)) != ""; ++i)
    words.append(i > 0 ? " " : "").append(at(trace, fmt::format("/attempts/{}/{}", i, member)));
  return words;
}

TEST(Trace, ShowsReasonAndOutcomeOfEveryAttempt) {  // CO-001
  const struct {
    Reaction first;
    std::string searchd;
    std::string reasons;
    std::string outcomes;
  } cases[] = {
      {json(R"({"error":"internal error"})", 500), "", "initial retry", "agent error answered"},
      {{"", Reaction::Then::reset}, "", "initial retry", "connection broken answered"},
      {refused(429, ""), "", "initial overload", "agent error answered"},
      {refused(429, "Retry-After-Ms: 2\r\n"), "", "initial throttled", "agent error answered"},
      {refused(410, "", R"({"error":"moved"})"), "", "initial moved", "agent error answered"},
      {refused(449, "", R"({"error":"again"})"), "", "initial conflict",
       "client's mistake answered"},
      {silence(), "search_timeouts = 100ms, 20s", "initial retry", "query timed out answered"},
      {silence(), "hedge = 20ms", "initial hedge", "cancelled answered"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.reasons, c.searchd));
    FakeSet mirrors(2);
    mirrors[0].react(always(c.first));
    const RestingMaster master(taking_turns(c.searchd), mirrors.table());
    const auto trace = trace_of(master);
    EXPECT_EQ(all(trace, "reason"), c.reasons) << trace;
    EXPECT_EQ(all(trace, "outcome"), c.outcomes) << trace;
    EXPECT_EQ(all(trace, "mirror"),
              fmt::format("{} {}", mirrors[0].address(), mirrors[1].address()));
    EXPECT_EQ(all(trace, "strategy"), "roundrobin roundrobin");
    EXPECT_EQ(at(trace, "/table"), "t");
    EXPECT_NE(at(trace, "/attempts/1/end_us"), "") << trace;
    EXPECT_EQ(at(trace, "/attempts/1/error"), "");
  }
}

// CO-086: the further mirrors that were asked, their order and reasons, and the one that answered.
TEST(Trace, ShowsTheHedgesOfASearch) {
  FakeSet mirrors(3);
  mirrors[0].react(always(silence()));
  mirrors[1].react(always(silence()));
  const RestingMaster master(taking_turns("hedge = 30ms\n hedge_step = 20ms"),
                             mirrors.table("hedge_max = 2"));
  const auto trace = trace_of(master);
  EXPECT_EQ(at(trace, "/attempts/0/hedging"), "t:30ms, s:20ms, w:False") << trace;
  EXPECT_EQ(all(trace, "mirror"), fmt::format("{} {} {}", mirrors[0].address(),
                                              mirrors[1].address(), mirrors[2].address()));
  EXPECT_EQ(all(trace, "reason"), "initial hedge hedge");
  EXPECT_EQ(all(trace, "outcome"), "cancelled cancelled answered");
  EXPECT_EQ(at(trace_of(master, "X-Hedge: off\r\nX-Timeout-Ms: 100\r\n"), "/attempts/0/hedging"),
            "");
}

// BP-031
TEST(Log, HasTheReasonOfEveryRetry) {
  FakeSet mirrors(2);
  mirrors[0].react(always(refused(429, "Retry-After-Ms: 7\r\n", R"({"error":"busy\nnow"})")));
  RestingMaster master(taking_turns("log_level = debug\n throttle_max_retries = 1"),
                       mirrors.table("max_attempts = 2"));
  EXPECT_EQ(master.find().status, 200);
  const auto line = master.process().wait_for("throttled").value_or("");
  for (const std::string& word :
       {std::string("query "), std::string("table t, shard 1: attempt 2 (throttled)"),
        std::string("pause of 0 ms"), mirrors[0].address() + R"( failed: "status 429: busy\nnow")"})
    EXPECT_TRUE(line.contains(word)) << word << "\n" << line;
}

TEST(Trace, ShowsThePauseBeforeAnAttempt) {
  FakeSet mirrors(1, refused(429, "Retry-After-Ms: 25\r\n"));
  const RestingMaster master(taking_turns("max_attempts = 2"), mirrors.table());
  const auto trace = trace_of(master);
  EXPECT_EQ(at(trace, "/attempts/0/pause_us"), "");
  EXPECT_EQ(at(trace, "/attempts/1/pause_us"), "25000");
  EXPECT_GE(std::stol(at(trace, "/attempts/1/start_us")),
            std::stol(at(trace, "/attempts/0/end_us")) + 25000);
}

TEST(Trace, CoversFailedRequestsToo) {
  FakeSet mirrors(3, refused(429, ""));
  const RestingMaster master(taking_turns("max_attempts = 3"), mirrors.table());
  EXPECT_EQ(all(trace_of(master), "reason"), "initial overload overload");
}

/// karmad with an access log.
class AccessLog : public testing::Test {
 protected:
  TempDir dir;
  std::string path = dir.path() + "/access.log";
  FakeSet mirrors{2};

  std::string searchd() const { return taking_turns(fmt::format("access_log = {}", path)); }
  /// The complete lines; the last one may not be written completely.
  static std::vector<std::string> lines(const std::string& file) {
    std::ifstream in(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line) && !in.eof();) lines.push_back(line);
    return lines;
  }
  /// Waits for the line of a path that a client asked for.
  static std::string line_with(const std::string& file, const std::string& text) {
    std::string found;
    eventually([&] {
      for (const auto& line : lines(file))
        if (line.contains(text)) found = line;
      return !found.empty();
    });
    return found;
  }
};

TEST_F(AccessLog, HasOneLineOfJsonForEachRequestWithItsAttempts) {
  mirrors[0].react(always(refused(429, "")));
  const RestingMaster master(searchd(), mirrors.table());
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(ask(master.port(), "POST", fmt::format("/search?n={}", i), kFindAll).status, 200);
  EXPECT_EQ(ask(master.port(), "POST", "/search?n=last", R"({"table":"none"})").status, 404);
  ASSERT_NE(line_with(path, R"("status":404)"), "");
  std::size_t searches = 0;
  for (const auto& line : lines(path)) {
    rapidjson::Document json;
    json.Parse(line.c_str());
    ASSERT_TRUE(json.IsObject()) << line;
    if (at(line, "/operation") != "search" || at(line, "/status") != "200") continue;
    ++searches;
    EXPECT_EQ(at(line, "/method"), "POST");
    EXPECT_EQ(at(line, "/table"), "t");
    EXPECT_EQ(at(line, "/hedged"), "false");
    const bool retried = at(line, "/retried") == "true";
    EXPECT_EQ(all(line, "reason"), retried ? "initial overload" : "initial") << line;
    EXPECT_EQ(all(line, "outcome"), retried ? "agent error answered" : "answered") << line;
    EXPECT_NE(at(line, "/time"), "");
  }
  EXPECT_EQ(searches, 6u);
  EXPECT_GE(master.count("access_log_written"), 7);
  EXPECT_EQ(master.count("access_log_dropped"), 0);
}

TEST_F(AccessLog, LogsAClientThatLeft) {
  mirrors.react(silence());
  const RestingMaster master(searchd(), mirrors.table());
  {
    const Pending search(master, "/search", kFindAll);
    ASSERT_TRUE(eventually([&] { return mirrors.requests() == 1; }));
  }
  const auto line = line_with(path, R"("status":499)");
  EXPECT_EQ(all(line, "outcome"), "cancelled") << line;
}

TEST_F(AccessLog, GoesOnInANewFileAfterTheSignal) {
  RestingMaster master(searchd(), mirrors.table());
  EXPECT_EQ(master.find("", "X-Timeout-Ms: 30000\r\n").status, 200);
  ASSERT_NE(line_with(path, R"("operation":"search")"), "");
  const auto old = path + ".1";
  std::filesystem::rename(path, old);
  ASSERT_TRUE(master.reload(searchd(), mirrors.table()));
  ASSERT_TRUE(eventually([&] {
    get(master.port(), "/healthz");
    return std::filesystem::exists(path);
  }));
  EXPECT_EQ(master.find().status, 200);
  EXPECT_NE(line_with(path, R"("operation":"search")"), "");
  EXPECT_EQ(master.count("access_log_dropped"), 0);
}

}  // namespace
}  // namespace karmad::test
