#include "balancer/status/status_json.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using enum MirrorCondition;

struct SeenMirror {
  MirrorCondition condition = ready;
  std::string reason;
};

Snapshot with_shards(const std::vector<std::vector<SeenMirror>>& shards) {
  Snapshot snapshot;
  TableStatus table{.name = "t"};
  for (const auto& seen : shards) {
    ShardStatus shard;
    for (const auto& of : seen) {
      MirrorStatus mirror{.agent = snapshot.agents.size()};
      mirror.report = {.condition = of.condition, .since = WallTime{}, .reason = of.reason};
      snapshot.agents.push_back({.address = "m" + std::to_string(snapshot.agents.size() + 1)});
      shard.mirrors.push_back(mirror);
    }
    table.shards.push_back(shard);
  }
  snapshot.tables.push_back(table);
  return snapshot;
}

TEST(Verdict, IsAllWellWhenNoMirrorIsInTrouble) {
  EXPECT_EQ(verdict({}), "all well");
  EXPECT_EQ(verdict(with_shards({{{ready}, {full}, {unsuitable, "is a replica"}}})), "all well");
}

TEST(Verdict, NamesTheWorstMirrorAndCountsTheOthers) {
  EXPECT_EQ(verdict(with_shards({{{ready}, {slow, "slow one"}}, {{ready}, {dead, "refused"}}})),
            "table t, shard 2: 1 of 2 mirrors ready: m4 dead: "
            "refused (2 mirrors are in trouble in all)");
}

TEST(Verdict, IsNotAllWellWhileTheQueriesOfATableFail) {
  auto snapshot = with_shards({{{ready}, {ready}}});
  snapshot.tables[0].trouble = "none of the last 9 queries succeeded: 9 got 400";
  EXPECT_EQ(verdict(snapshot), "table t: none of the last 9 queries succeeded: 9 got 400");
  snapshot = with_shards({{{ready}, {slow, "slow one"}}});
  snapshot.tables[0].trouble = "none of the last 9 queries succeeded: 9 got 400";
  EXPECT_EQ(verdict(snapshot),
            "table t: none of the last 9 queries succeeded: 9 got 400; table t, shard 1: 1 of 2 "
            "mirrors ready: m2 slow: slow one");
  snapshot = with_shards({{{dead, "refused"}}});
  snapshot.tables[0].trouble = "none of the last 9 queries succeeded: 9 got 502";
  EXPECT_TRUE(verdict(snapshot).starts_with("table t, shard 1: no mirror can be asked"));
}

TEST(Verdict, NamesAShardWithoutAMirrorFirst) {
  EXPECT_EQ(verdict(with_shards({{{ready}, {dead, "refused"}}, {{lagging, "lags 9 s"}}})),
            "table t, shard 2: no mirror can be asked: m3 lagging: "
            "lags 9 s (2 mirrors are in trouble in all)");
}

TEST(Verdict, OfAShardPrefersTroubleToWhatFollowsFromSettings) {
  const auto snapshot = with_shards({{{slow, "slow one"}, {unsuitable, "is a replica"}, {ready}}});
  EXPECT_EQ(diagnosis(snapshot, snapshot.tables[0].shards[0]),
            "1 of 3 mirrors ready: m1 slow: slow one");
  const auto single = with_shards({{{slow, "slow two"}}});
  EXPECT_EQ(diagnosis(single, single.tables[0].shards[0]),
            "0 of 1 mirror ready: m1 slow: slow two");
}

}  // namespace
}  // namespace karmad
