// How often a query is tried, and at which mirrors; counted by the mirrors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kQuery = R"({"table":"t","query":{"match_all":{}}})";

FakeMirror::React with(const Reaction& reaction) {
  return [reaction](const std::string&) { return reaction; };
}

Reaction trouble() {
  return json(R"({"error":"internal error"})", 500);
}

/// `count` mirrors of one shard, all with the same habit.
class Mirrors {
 public:
  Mirrors(std::size_t count, const Reaction& reaction) {
    for (std::size_t i = 0; i < count; ++i)
      mirrors_.push_back(std::make_unique<FakeMirror>(with(reaction)));
  }
  FakeMirror& operator[](std::size_t i) { return *mirrors_[i]; }
  std::string table(const std::string& options = "", const std::string& more = "") const {
    std::string line;
    for (const auto& mirror : mirrors_) line += (line.empty() ? "" : "|") + mirror->address();
    return fmt::format("table t {{\n type = distributed\n agent = {}:products {}\n {}\n}}", line,
                       options, more);
  }
  std::size_t requests() const {
    std::size_t sum = 0;
    for (const auto& mirror : mirrors_) sum += mirror->requests();
    return sum;
  }
  std::size_t asked() const {
    std::size_t sum = 0;
    for (const auto& mirror : mirrors_) sum += mirror->requests() > 0 ? 1 : 0;
    return sum;
  }

 private:
  std::vector<std::unique_ptr<FakeMirror>> mirrors_;
};

const std::string kCalmRetries = "ha_ping_interval = 0\n";

double counted(const Master& master, std::size_t mirror, const std::string& what) {
  return master.number(fmt::format("/tables/0/shards/0/mirrors/{}/{}", mirror, what));
}

std::string retried_query(const std::string& options) {
  return R"({"table":"t","options":{)" + options + "}}";
}

struct Case {
  std::size_t mirrors;
  std::string searchd;
  std::string line;
  std::string table;
  std::string query;
  std::size_t requests;  ///< in all
  std::size_t asked;     ///< different mirrors
};

// HA-026: agent_retry_count times the mirrors, the line's count absolute, the query's word
// first; without a word each mirror once. The delay is short where attempts go on after all mirrors
// were tried.
TEST(Retries, AreAsManyAsTheQueryTheLineTheTableOrTheInstanceSay) {
  const std::string quick = "agent_retry_delay = 1ms\n";
  const std::string plain(kQuery);
  const Case cases[] = {
      {1, "", "", "", plain, 1, 1},
      {2, "", "", "", plain, 2, 2},
      {3, "", "", "", plain, 3, 3},
      {3, "agent_retry_count = 0", "", "", plain, 1, 1},
      {3, quick + "agent_retry_count = 1", "", "", plain, 1 + 3, 3},
      {1, quick + "agent_retry_count = 2", "", "", plain, 1 + 2, 1},
      {2, quick + "agent_retry_count = 0", "", "agent_retry_count = 2", plain, 1 + 4, 2},
      {2, quick + "agent_retry_count = 3", "", "mirror_retry_count = 1", plain, 1 + 2, 2},
      {3, quick, "[retry_count=1]", "", plain, 1 + 1, 2},
      {3, quick, "[retry_count=2]", "agent_retry_count = 5", plain, 1 + 2, 3},
      {3, quick, "[retry_count=0]", "agent_retry_count = 5", plain, 1, 1},
      {2, quick, "[retry_count=5]", "", plain, 1 + 5, 2},
      {3, quick, "[retry_count=5]", "", retried_query(R"("retry_count":0)"), 1, 1},
      {2, quick, "[retry_count=1]", "", retried_query(R"("retry_count":2)"), 1 + 4, 2},
      {2, quick + "agent_retry_count = 0", "", "", retried_query(R"("retry_count":1)"), 1 + 2, 2},
      // More than the default of max_attempts, which then gives way.
      {8, "", "", "", plain, 8, 8},
      {1, quick, "[retry_count=9]", "", plain, 1 + 9, 1},
      {3, quick + "agent_retry_count = 3", "", "", plain, 1 + 9, 3},
      {3, quick + "agent_retry_count = 3\n max_attempts = 6", "", "", plain, 6, 3},
      {3, quick + "agent_retry_count = 3", "", "max_attempts = 2", plain, 2, 2},
  };
  for (const auto& c : cases) {
    Mirrors mirrors(c.mirrors, trouble());
    const Master master(kCalmRetries + c.searchd, mirrors.table(c.line, c.table));
    const auto trace =
        fmt::format("{} mirrors, {} {} {} {}", c.mirrors, c.searchd, c.line, c.table, c.query);
    EXPECT_EQ(master.search(c.query).status, 502) << trace;
    EXPECT_EQ(mirrors.requests(), c.requests) << trace;
    EXPECT_EQ(mirrors.asked(), c.asked) << trace;
    EXPECT_EQ(master.count("agent_retry"), static_cast<std::int64_t>(c.requests) - 1) << trace;
  }
}

// X-16. A delay beyond the deadline is never begun: whatever happens here, happens without it.
TEST(Retries, GoAtOnceToMirrorsNotTriedYetAndWaitOnlyWhenAllWere) {
  const std::string endless = kCalmRetries + "agent_retry_delay = 1h\n";
  for (int turn = 0; turn < 5; ++turn) {
    Mirrors mirrors(4, trouble());
    const Master master(endless + "agent_retry_count = 8", mirrors.table());
    EXPECT_EQ(master.search(kQuery).status, 502);
    EXPECT_EQ(mirrors.requests(), 4u);
    EXPECT_EQ(mirrors.asked(), 4u);
  }
}

TEST(Retries, WaitTheDelayBetweenRoundsAlsoTheQuerysOwn) {
  Mirrors mirrors(2, trouble());
  const Master master(kCalmRetries + "agent_retry_count = 2\n agent_retry_delay = 100ms",
                      mirrors.table());
  auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(master.search(kQuery).status, 502);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms);  // before the 3rd, 4th, 5th attempt
  EXPECT_EQ(mirrors.requests(), 5u);
  began = std::chrono::steady_clock::now();
  EXPECT_EQ(master.search(retried_query(R"("retry_count":1,"retry_delay":200)")).status, 502);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 200ms);  // before the 3rd attempt
  EXPECT_EQ(mirrors.requests(), 5u + 3u);
}

// HA-026, X-18
TEST(Retries, AfterAQueryTimeOutAreOneOnAnotherMirrorUnlessRetriesAreOff) {
  for (const unsigned retries : {0U, 1U, 3U}) {
    Mirrors mirrors(3, nothing_found());
    mirrors[0].react(with(silence()));
    mirrors[1].react(with(silence()));
    mirrors[2].react(with(silence()));
    const Master master(
        kCalmRetries +
            fmt::format(
                "ha_strategy = roundrobin\n agent_query_timeout = 100ms\n agent_retry_count = {}",
                retries),
        mirrors.table());
    EXPECT_EQ(master.search(kQuery).status, 504) << retries;
    EXPECT_EQ(mirrors[0].requests(), 1U) << retries;
    EXPECT_EQ(mirrors[1].requests() + mirrors[2].requests(), retries == 0 ? 0U : 1U) << retries;
    EXPECT_EQ(counted(master, 0, "periods/1/query_timeouts"), 1);
  }
}

TEST(Retries, AreNotMadeForWhatTheClientGotWrongAndNoMirrorIsBlamed) {
  struct {
    int status;
    std::string_view body;
  } const mistakes[] = {
      {400, R"({"error":"\"limit\" property value should be an integer"})"},
      {500, R"({"error":"P08: syntax error, unexpected ')' near ''"})"},
      {500, R"({"error":"table products: sort-by attribute 'nope' not found"})"},
      {404, R"({"error":"no such path"})"},
  };
  for (const auto& mistake : mistakes) {
    Mirrors mirrors(2, json(mistake.body, mistake.status));
    const Master master(kCalmRetries + "agent_retry_count = 3", mirrors.table());
    const auto answer = master.search(kQuery);
    EXPECT_EQ(answer.status, mistake.status);
    EXPECT_EQ(answer.body, mistake.body);
    EXPECT_EQ(mirrors.requests(), 1u) << mistake.body;
    for (std::size_t mirror : {0, 1}) {
      EXPECT_EQ(counted(master, mirror, "errors_in_a_row"), 0);
      EXPECT_EQ(counted(master, mirror, "periods/1/wrong_replies"), 0);
    }
  }
}

// The first shard that refuses decides; the others are not asked again either.
TEST(Retries, AreNotMadeOnAnyShardForWhatTheClientGotWrong) {
  const auto mistake = json(R"({"error":"unknown column: nope"})", 500);
  Mirrors first(2, mistake);
  const FakeMirror second(with(mistake));
  auto table = first.table();
  table.insert(table.rfind('}'), fmt::format(" agent = {}:products\n", second.address()));
  const Master master(kCalmRetries + "agent_retry_count = 3", table);
  const auto answer = master.search(kQuery);
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, R"({"error":"unknown column: nope"})");
  EXPECT_LE(first.requests(), 1u);
  EXPECT_LE(second.requests(), 1u);
  EXPECT_EQ(master.count("queries_failed"), 0);
  EXPECT_EQ(master.count("client_mistakes"), 1);
}

// The name of the table on a mirror is ours, not the client's.
TEST(Retries, AreMadeWhenAMirrorLacksTheTable) {
  for (const auto error : {R"({"error":"unknown local table(s) 'products' in search request"})",
                           R"({"error":{"type":"x","reason":"table not found: products"}})"}) {
    Mirrors mirrors(2, nothing_found());
    mirrors[0].react(with(json(error, 500)));
    const Master master(kCalmRetries + "ha_strategy = roundrobin", mirrors.table());
    EXPECT_EQ(master.search(kQuery).status, 200);
    EXPECT_EQ(mirrors[0].requests(), 1u);
    EXPECT_EQ(mirrors[1].requests(), 1u);
    EXPECT_EQ(counted(master, 0, "periods/1/wrong_replies"), 1);
  }
}

// A mirror that closes a kept connection just when the next request comes.
TEST(StaleConnection, IsReplacedWithoutBlameAndCountsAsNoRetry) {
  Mirrors mirrors(1, nothing_found());
  mirrors[0].react([n = 0](const std::string&) mutable {
    return n++ == 1 ? Reaction{.bytes = "", .then = Reaction::Then::close} : nothing_found();
  });
  const Master master(kCalmRetries + "workers = 1\n agent_retry_count = 0", mirrors.table());
  EXPECT_EQ(master.search(kQuery).status, 200);
  const auto answer = master.search(kQuery, "X-Karmad-Trace: 1\r\n");
  EXPECT_EQ(answer.status, 200);
  ASSERT_TRUE(answer.fields.contains("x-karmad-trace"));
  EXPECT_EQ(answer.fields.at("x-karmad-trace").find(R"("error")"), std::string::npos)
      << answer.fields.at("x-karmad-trace");
  EXPECT_EQ(mirrors.requests(), 3u);
  EXPECT_EQ(mirrors[0].connections(), 2u);
  EXPECT_EQ(master.count("stale_connections"), 1);
  EXPECT_EQ(master.count("agent_retry"), 0);
  EXPECT_EQ(counted(master, 0, "errors_in_a_row"), 0);
  EXPECT_EQ(counted(master, 0, "periods/1/unexpected_closings"), 0);
}

TEST(StaleConnection, ClosedWhileIdleIsNeverUsed) {
  Mirrors mirrors(1, nothing_found());
  const Master master(kCalmRetries + "workers = 1\n agent_retry_count = 0", mirrors.table());
  EXPECT_EQ(master.search(kQuery).status, 200);
  mirrors[0].close_all();
  EXPECT_TRUE(eventually([&] { return counted(master, 0, "open_connections") == 0; }));
  EXPECT_EQ(master.search(kQuery).status, 200);
  EXPECT_EQ(mirrors.requests(), 2u);
  EXPECT_EQ(counted(master, 0, "periods/1/succeeded_queries"), 2);
}

TEST(FreshConnection, ThatIsClosedWithoutAnAnswerIsTheMirrorsFault) {
  Mirrors mirrors(1, {.bytes = "", .then = Reaction::Then::close});
  const Master master(kCalmRetries, mirrors.table());
  EXPECT_EQ(master.search(kQuery).status, 502);
  EXPECT_EQ(mirrors.requests(), 1u);
  EXPECT_EQ(counted(master, 0, "periods/1/unexpected_closings"), 1);
}

/// What the agent was told of the time that is left.
long told_ms(const std::string& request) {
  const auto at = request.find("X-Timeout-Ms: ");
  return at == std::string::npos ? -1 : std::atol(request.c_str() + at + 14);
}

TEST(Deadline, OfTheClientEndsTheQueryAndIsHandedToTheAgent) {
  Mirrors mirrors(2, silence());
  const Master master(kCalmRetries +
                          "agent_query_timeout = 5m\n request_timeout = 6m\n"
                          " agent_retry_count = 5",
                      mirrors.table());
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(master.search(kQuery, "X-Timeout-Ms: 1000\r\n").status, 504);
  EXPECT_LT(std::chrono::steady_clock::now() - began, kSoon);
  ASSERT_EQ(mirrors.requests(), 1u);
  const auto seen = mirrors[mirrors[0].requests() == 1 ? 0 : 1].seen();
  EXPECT_GT(told_ms(seen[0]), 0);
  EXPECT_LE(told_ms(seen[0]), 1000);
  // The client was in a hurry; that says nothing about the mirror.
  for (std::size_t mirror : {0, 1}) EXPECT_EQ(counted(master, mirror, "errors_in_a_row"), 0);
}

TEST(Deadline, OfAnAttemptIsTheAgentsTimeOutWhenTheQueryHasMore) {
  Mirrors mirrors(1, nothing_found());
  const Master master(kCalmRetries + "agent_query_timeout = 700ms", mirrors.table());
  EXPECT_EQ(master.search(kQuery, "X-Timeout-Ms: 60000\r\n").status, 200);
  EXPECT_EQ(master.search(retried_query(R"("agent_query_timeout":300)")).status, 200);
  EXPECT_EQ(told_ms(mirrors[0].seen()[0]), 700);
  EXPECT_EQ(told_ms(mirrors[0].seen()[1]), 300);
}

TEST(Deadline, OfTheClientEndsOneShardsPartAndTheAnswerOfTheOtherIsGiven) {
  const FakeMirror slow(with(silence()));
  Mirrors mirrors(1, nothing_found());
  auto table = mirrors.table();
  table.insert(table.rfind('}'), fmt::format(" agent = {}:products\n", slow.address()));
  const Master master(kCalmRetries + "agent_query_timeout = 20s\n request_timeout = 20s", table);
  const auto answer = master.search(kQuery, "X-Timeout-Ms: 150\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("\"timed_out\":true"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find(fmt::format("table t: shard 2: agent {}: ", slow.address())),
            std::string::npos)
      << answer.body;
}

TEST(Deadline, OfNoTimeAtAllIsATimeOutAtOnce) {
  Mirrors mirrors(1, silence());
  const Master master(kCalmRetries + "agent_query_timeout = 20s\n request_timeout = 20s",
                      mirrors.table());
  EXPECT_EQ(master.search(kQuery, "X-Timeout-Ms: 0\r\n").status, 504);
  EXPECT_EQ(counted(master, 0, "errors_in_a_row"), 0);
}

TEST(Deadline, OfTheInstanceBoundsRetries) {
  Mirrors mirrors(1, trouble());
  const Master master(kCalmRetries +
                          "request_timeout = 250ms\n agent_retry_count = 100\n"
                          " agent_retry_delay = 100ms",
                      mirrors.table());
  EXPECT_GE(master.search(kQuery).status, 502);
  EXPECT_GE(mirrors.requests(), 1u);
  EXPECT_LE(mirrors.requests(), 3u);
}

constexpr std::string_view kBrokenInside =
    R"({"took":0,"timed_out":false,"hits":{"total":2,"total_relation":"eq","hits":[{"_id":1,]]}})";

/// A shard of `mirrors` whose answers turn out to be broken only when they are merged.
std::string two_shards(const Mirrors& broken, const FakeMirror& sound) {
  auto table = broken.table();
  return table.insert(table.rfind('}'), fmt::format(" agent = {}:products\n", sound.address()));
}

TEST(BrokenHits, FoundWhileMergingAreRetriedElsewhereAndCounted) {
  Mirrors broken(2, nothing_found());
  broken[0].react(with(json(kBrokenInside)));
  const FakeMirror sound(with(nothing_found()));
  const Master master(kCalmRetries + "ha_strategy = roundrobin", two_shards(broken, sound));
  const auto answer = master.search(kQuery);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.find("warning"), std::string::npos) << answer.body;
  EXPECT_EQ(broken[0].requests(), 1u);
  EXPECT_EQ(broken[1].requests(), 1u);
  EXPECT_EQ(sound.requests(), 1u);
  EXPECT_EQ(counted(master, 0, "periods/1/wrong_replies"), 1);
  EXPECT_EQ(master.count("agent_retry"), 1);
}

TEST(BrokenHits, AreRetriedNoMoreOftenThanTheSettingsSay) {
  Mirrors broken(3, json(kBrokenInside));
  const FakeMirror sound(with(nothing_found()));
  for (const auto& [searchd, requests] :
       {std::pair{"agent_retry_count = 0", 1u}, std::pair{"", 1u + 3u}}) {
    const Master master(kCalmRetries + searchd, two_shards(broken, sound));
    const auto answer = master.search(kQuery);
    EXPECT_EQ(answer.status, 200);
    EXPECT_NE(answer.body.find("table t: shard 1: agent "), std::string::npos) << answer.body;
    EXPECT_EQ(broken.requests(), requests) << searchd;
  }
}

}  // namespace
}  // namespace karmad::test
