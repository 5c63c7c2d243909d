// Strategies that react at once, weights, slow start and ejection, with real processes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kAnyQuery = R"({"table":"t","query":{"match_all":{}}})";

FakeMirror::React reacting_with(const Reaction& reaction) {
  return [reaction](const std::string&) { return reaction; };
}

/// Mirrors of one shard that answer in 3 ms.
class AdaptiveShard {
 public:
  explicit AdaptiveShard(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      mirrors_.push_back(std::make_unique<FakeMirror>(reacting_with(slowly(3ms))));
  }
  FakeMirror& operator[](std::size_t i) { return *mirrors_[i]; }
  /// `options`: of the first mirror, such as `[weight=3]`.
  std::string table(std::string_view options = "") const {
    std::string line;
    for (const auto& mirror : mirrors_)
      line += fmt::format("{}{}{}", line.empty() ? "" : "|", mirror->address(),
                          line.empty() ? options : "");
    return fmt::format("table t {{\n type = distributed\n agent = {}:products\n}}", line);
  }
  /// The part of the searches that each mirror got since the last call.
  std::vector<double> shares() {
    std::vector<double> shares;
    double sum = 0;
    before_.resize(mirrors_.size());
    for (std::size_t i = 0; i < mirrors_.size(); ++i) {
      const auto now = mirrors_[i]->requests();
      shares.push_back(static_cast<double>(now - std::exchange(before_[i], now)));
      sum += shares.back();
    }
    for (auto& share : shares) share /= std::max(sum, 1.0);
    return shares;
  }

 private:
  std::vector<std::unique_ptr<FakeMirror>> mirrors_;
  std::vector<std::size_t> before_;
};

std::string state_of_mirror(const Master& master, std::size_t mirror) {
  return master.word(fmt::format("/tables/0/shards/0/mirrors/{}/state", mirror));
}

Load::Ask search_load() {
  return expecting_200(std::string(kAnyQuery));
}

TEST(AdaptiveStrategy, GivesASlowMirrorLittleAndItsShareBack) {
  AdaptiveShard shard(3);
  const Master master("ha_strategy = adaptive", shard.table());
  Load load(master.port(), 6, search_load());
  ASSERT_TRUE(load.more(300));
  shard[1].react(reacting_with(slowly(100ms)));
  ASSERT_TRUE(load.more(300));
  shard.shares();
  ASSERT_TRUE(load.more(600));
  EXPECT_LT(shard.shares()[1], 0.1);
  shard[1].react(reacting_with(slowly(3ms)));
  EXPECT_TRUE(eventually([&] {
    shard.shares();
    return load.more(200) && shard.shares()[1] > 0.2;
  }));
  EXPECT_EQ(load.wrong(), "");
}

TEST(AdaptiveStrategy, AMirrorThatFailsAtOnceGetsFewSearchesAndNoClientNotices) {
  AdaptiveShard shard(3);
  const Master master("ha_strategy = adaptive", shard.table());
  Load load(master.port(), 6, search_load());
  ASSERT_TRUE(load.more(300));
  shard[2].react(reacting_with(json(R"({"error":"out of memory"})", 500)));
  ASSERT_TRUE(load.more(200));
  shard.shares();
  ASSERT_TRUE(load.more(600));
  EXPECT_LT(shard.shares()[2], 0.05);
  EXPECT_EQ(load.wrong(), "");
}

TEST(AdaptiveStrategy, ALoadThatAnswersReportMovesSearches) {
  AdaptiveShard shard(2);
  const Master master("ha_strategy = adaptive", shard.table());
  auto busy = slowly(3ms);
  const auto end = busy.bytes.find("\r\n") + 2;
  busy.bytes.insert(end, "endpoint-load-metrics: TEXT application_utilization=0.9\r\n");
  shard[0].react(reacting_with(busy));
  Load load(master.port(), 6, search_load());
  ASSERT_TRUE(load.more(300));
  shard.shares();
  ASSERT_TRUE(load.more(300));
  EXPECT_LT(shard.shares()[0], 0.35);
  EXPECT_EQ(load.wrong(), "");
}

TEST(ComparedStrategies, AnswerEverything) {
  for (const auto* strategy : {"prequal", "ars"}) {
    AdaptiveShard shard(3);
    const Master master(fmt::format("ha_strategy = {}", strategy), shard.table());
    shard[0].react(reacting_with(slowly(60ms)));
    Load load(master.port(), 6, search_load());
    ASSERT_TRUE(load.more(300));
    shard.shares();
    ASSERT_TRUE(load.more(300));
    EXPECT_LT(shard.shares()[0], 0.25) << strategy;
    EXPECT_EQ(load.wrong(), "");
  }
}

TEST(Weight, CountsWithEveryStrategy) {
  for (const auto* strategy : {"random", "roundrobin", "nodeads", "noerrors"}) {
    AdaptiveShard shard(2);
    const Master master(fmt::format("ha_strategy = {}", strategy), shard.table("[weight=3]"));
    shard.shares();
    for (int i = 0; i < 200; ++i) ASSERT_EQ(master.search(kAnyQuery).status, 200);
    EXPECT_NEAR(shard.shares()[0], 0.75, 0.15) << strategy;
  }
  for (const auto* strategy : {"leastops", "adaptive", "ars"}) {
    AdaptiveShard shard(2);
    const Master master(fmt::format("ha_strategy = {}", strategy), shard.table("[weight=3]"));
    Load load(master.port(), 8, search_load());
    // On a busy machine the mirror with more searches may look slow at first.
    EXPECT_TRUE(eventually([&] { return load.more(300) && shard.shares()[0] > 0.6; })) << strategy;
  }
}

TEST(Weight, OfZeroIsUsedOnlyIfNoOtherMirrorSuits) {
  for (const auto* strategy : {"random", "roundrobin", "leastops", "adaptive"}) {
    AdaptiveShard shard(2);
    const Master master(fmt::format("ha_strategy = {}", strategy), shard.table("[weight=0]"));
    for (int i = 0; i < 50; ++i) ASSERT_EQ(master.search(kAnyQuery).status, 200);
    EXPECT_EQ(shard[0].requests(), 0U) << strategy;
    shard[1].react(reacting_with(json("{}", 500)));
    EXPECT_EQ(master.search(kAnyQuery).status, 200) << strategy;
    EXPECT_GT(shard[0].requests(), 0U) << strategy;
  }
}

// Its pings are answered, so `dead_after` never applies.
TEST(Ejection, OfAFailingMirrorIsAStateAnEventAndANumberAndEndsWithSlowStart) {
  AdaptiveShard shard(3);
  Master master(
      "ha_strategy = roundrobin\n outlier = on\n outlier_time = 1s\n slow_start = 30s\n"
      " ha_ping_interval = 100ms",
      shard.table());
  Load load(master.port(), 4, search_load());
  shard[1].react(reacting_with(json(R"({"error":"broken"})", 500)));
  EXPECT_TRUE(eventually([&] { return state_of_mirror(master, 1) == "ejected"; }));
  shard.shares();
  ASSERT_TRUE(load.more(100));
  EXPECT_EQ(shard.shares()[1], 0);
  EXPECT_GE(master.number("/tables/0/shards/0/outliers/ejections"), 1);
  HttpClient client(master.port());
  EXPECT_NE(client.request("GET", "/events", "")->body.find(R"("state":"ejected")"),
            std::string::npos);
  const auto explained = client.request("GET", "/explain?table=t", "")->body;
  EXPECT_NE(explained.find("ejected as an outlier"), std::string::npos) << explained;

  shard[1].react(reacting_with(slowly(3ms)));
  EXPECT_TRUE(eventually([&] { return state_of_mirror(master, 1) == "starting"; }));
  shard.shares();
  ASSERT_TRUE(load.more(200));
  const auto share = shard.shares()[1];
  EXPECT_GT(share, 0);
  EXPECT_LT(share, 0.25) << "it starts with a tenth of its weight";
  EXPECT_EQ(load.wrong(), "");
}

TEST(Ejection, OfASlowMirror) {
  AdaptiveShard shard(3);
  const Master master("ha_strategy = random\n outlier = latency", shard.table());
  shard[0].react(reacting_with(slowly(80ms)));
  Load load(master.port(), 6, search_load());
  EXPECT_TRUE(eventually([&] { return state_of_mirror(master, 0) == "ejected"; }));
  EXPECT_EQ(state_of_mirror(master, 1), "ready");
}

TEST(Ejection, OneOfTwoMirrorsAlwaysStays) {
  AdaptiveShard shard(2);
  const Master master("ha_strategy = random\n outlier = on", shard.table());
  for (const std::size_t i : {0U, 1U}) shard[i].react(reacting_with(json("{}", 500)));
  for (int i = 0; i < 60; ++i) master.search(kAnyQuery);
  EXPECT_TRUE(
      eventually([&] { return master.number("/tables/0/shards/0/outliers/ejected") == 1; }));
  shard.shares();
  for (int i = 0; i < 20; ++i) master.search(kAnyQuery);
  const auto shares = shard.shares();
  EXPECT_GT(*std::ranges::max_element(shares), 0.4);
}

TEST(SlowStart, OfAMirrorThatAReloadAdds) {
  AdaptiveShard shard(3);
  AdaptiveShard one(1);
  Master master("ha_strategy = adaptive\n slow_start = 60s", shard.table());
  Load load(master.port(), 6, search_load());
  ASSERT_TRUE(load.more(100));
  auto grown = shard.table();
  grown.insert(grown.find(":products"), "|" + one[0].address());
  ASSERT_TRUE(master.reload("ha_strategy = adaptive\n slow_start = 60s", grown));
  EXPECT_TRUE(eventually([&] { return state_of_mirror(master, 3) == "starting"; }));
  EXPECT_EQ(state_of_mirror(master, 0), "ready");
  const auto before = one[0].requests();
  ASSERT_TRUE(load.more(300));
  EXPECT_LT(one[0].requests() - before, 75U) << "less than its share";
  for (int i = 0; i < 10 && one[0].requests() == 0; ++i) ASSERT_TRUE(load.more(300));
  EXPECT_GT(one[0].requests(), 0U);
  EXPECT_EQ(load.wrong(), "");
}

}  // namespace
}  // namespace karmad::test
