#include "balancer/topology/topology.hpp"
#include "balancer/endpoints/endpoints.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/balancer/topology/built.hpp"

namespace karmad {
namespace {

std::string table(const std::string& name, const std::string& lines) {
  return "table " + name + " {\n type = distributed\n" + lines + "\n}\n";
}
std::string opaque(const std::string& name, const std::string& route) {
  return table(name, " dialect = http\n route = " + route + "\n agent = h:80");
}

TEST(Topology, HoldsTablesShardsAndMirrorsInTheOrderOfTheFile) {
  Built built;
  const auto topology = built.build(table("one", " agent = a:1|b:2:x\n agent = c:3:y,z") +
                                    table("two", " agent = b:2:w\n agent_blackhole = d:4"));
  ASSERT_TRUE(topology);
  ASSERT_EQ(topology->tables.size(), 2u);
  const auto& one = *topology->find("one");
  ASSERT_EQ(one.shards.size(), 2u);
  const auto& mirrors = *one.shards[0]->mirrors;
  ASSERT_EQ(mirrors.size(), 2u);
  EXPECT_EQ(mirrors[0].agent->name, "a:1");
  EXPECT_EQ(mirrors[1].tables, std::vector<std::string>{"x"});
  EXPECT_EQ((*one.shards[1]->mirrors)[0].tables, (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(topology->agents.size(), 4u);
  EXPECT_EQ(topology->pinged_agents.size(), 3u);  // a blackhole is not asked how it does
  EXPECT_EQ(topology->find("two")->blackholes.front().agent->name, "d:4");
  EXPECT_EQ(topology->find("three"), nullptr);
  EXPECT_EQ(topology->find("ONE"), &one) << "as the search server finds tables";
}

TEST(Topology, TablesThatNameTheSameHostShareItsStatistics) {
  Built built;
  const auto topology = built.build(table("one", " agent = a:1|b:2:x") +
                                    table("two", " agent = a:1:y\n agent = a:2:y"));
  ASSERT_TRUE(topology);
  const auto agent = [&](const char* name, std::size_t shard) {
    return (*topology->find(name)->shards[shard]->mirrors)[0].agent;
  };
  EXPECT_EQ(agent("one", 0), agent("two", 0));
  EXPECT_NE(agent("one", 0), agent("two", 1));
}

TEST(Topology, TheMostParticularSettingWins) {  // HA-026
  Built built;
  const auto topology = built.build(
      "searchd {\n agent_query_timeout = 1s\n agent_connect_timeout = 2s\n"
      " ha_strategy = nodeads\n agent_retry_count = 4\n partial_results = deny\n}\n" +
      table("one",
            " agent = a:1|b:1:x [ha_strategy=noerrors, retry_count=7]\n agent = c:1|d:1:x\n"
            " ha_strategy = roundrobin\n agent_query_timeout = 3s\n agent_retry_count = 5\n"
            " partial_results = allow") +
      table("two", " agent = a:1|b:1:x"));
  ASSERT_TRUE(topology);
  const auto& one = *topology->find("one");
  EXPECT_EQ(one.timeouts.query, std::chrono::seconds(3));
  EXPECT_EQ(one.timeouts.connect, std::chrono::seconds(2));
  EXPECT_EQ(one.retry_count, 5u);
  EXPECT_EQ(one.partial_results, PartialResults::allow);
  EXPECT_EQ(one.shards[0]->mirrors->strategy_name(), "noerrors");
  EXPECT_EQ(one.shards[0]->retry_count, 7u);
  EXPECT_EQ(one.shards[1]->mirrors->strategy_name(), "roundrobin");
  EXPECT_FALSE(one.shards[1]->retry_count);
  const auto& two = *topology->find("two");
  EXPECT_EQ(two.timeouts.query, std::chrono::seconds(1));
  EXPECT_EQ(two.retry_count, 4u);
  EXPECT_EQ(two.partial_results, PartialResults::deny);
  EXPECT_EQ(two.shards[0]->mirrors->strategy_name(), "nodeads");
}

TEST(Topology, TheLongestRouteThatCoversAPathIsItsTables) {
  Built built;
  const auto topology = built.build(opaque("short", "/x") + opaque("all", "/") +
                                    opaque("long", "/x/y") + table("plain", " agent = a:1:x"));
  ASSERT_TRUE(topology);
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"/x", "short"},    {"/x/z", "short"}, {"/x/y", "long"}, {"/x/y/z", "long"},
      {"/x/yz", "short"}, {"/xy", "all"},    {"/", "all"},     {"/plain", "all"}};
  for (const auto& [path, name] : cases) {
    ASSERT_NE(topology->route(path), nullptr) << path;
    EXPECT_EQ(topology->route(path)->name, name) << path;
  }
  EXPECT_EQ(Built().build(opaque("short", "/x"))->route("/y"), nullptr);
}

TEST(Topology, FindsAllProblemsThatOnlyItCanSee) {
  Built built;
  EXPECT_EQ(built.build("searchd {\n ha_strategy = nodead\n}\n" +
                        table("one", " agent = a:1|b:1:x [ha_strategy=best]\n dialect = smtp") +
                        table("two", " agent = c:1:x")),
            nullptr);
  std::string all;
  for (const auto& problem : built.problems) all += text(problem) + "\n";
  for (const auto* what : {"'nodead' is unknown", "'best' is unknown", "dialect 'smtp' is unknown"})
    EXPECT_NE(all.find(what), std::string::npos) << what << "\n" << all;
}

/// The problems and notices of a configuration, with those of the topology.
Loaded judged(const std::string& text) {
  return load("c", world({{"c", text}}), FileKind::any, judge);
}

TEST(Judge, RefusesARouteThatKarmadAnswersItself) {
  const auto loaded = judged(opaque("two", "/search"));
  std::string all;
  for (const auto& problem : loaded.problems) all += text(problem) + "\n";
  EXPECT_NE(all.find("karmad answers '/search' itself; a route needs another path"),
            std::string::npos)
      << all;
}

TEST(Judge, FindsAllProblemsInOneRoundInTheOrderOfTheFile) {
  const auto loaded =
      judged("searchd {\n workers = many\n ha_strategy = best\n hedge = never\n}\n" +
             table("t",
                   " agent = a:1|b:1:x\n agent = c:1[role=boss]|d:1:x\n dialect = smtp\n"
                   " agent = e:70000|f:1\n ha_period_karma = 1\n"));
  std::vector<unsigned> lines;
  for (const auto& problem : loaded.problems) lines.push_back(problem.at.line);
  EXPECT_EQ(lines, (std::vector<unsigned>{2, 3, 4, 9, 10, 11, 12}));
  EXPECT_FALSE(loaded.settings);
}

TEST(Judge, BuildsNothingSoThatNoValueCanHarmIt) {
  for (const auto* lines :
       {" ha_period_karma = 0\n", " ha_ping_interval = 0\n ping_type = native\n",
        " max_in_flight = -1\n", " dead_after = 4000000000\n"}) {
    const auto loaded =
        judged("searchd {\n" + std::string(lines) + "}\n" +
               table("t", " agent = nonsense::\n agent = |\n agent_blackhole = x:y:z:"));
    EXPECT_FALSE(loaded.problems.empty()) << lines;
  }
}

std::vector<std::string> notices_of(const std::string& text) {
  const auto loaded = judged(text);
  for (const auto& problem : loaded.problems) ADD_FAILURE() << karmad::text(problem);
  std::vector<std::string> told;
  if (loaded.settings)
    for (const auto& notice : loaded.settings->notices) told.push_back(karmad::text(notice));
  return told;
}

TEST(Judge, NamesWeightsWithoutEffect) {
  const auto weights = [](const std::string& strategy) {
    return notices_of(table("t", " updates = any\n ha_strategy = " + strategy +
                                     "\n agent = a:1[weight=2]|b:1:x\n agent = c:1[weight=3]"));
  };
  for (const auto* strategy : {"random", "roundrobin", "nodeads", "leastops", "adaptive"})
    EXPECT_EQ(
        weights(strategy),
        std::vector<std::string>{"c:6:21: warning: weight has no effect: the line has one agent"});
}

TEST(Judge, NamesTablesWhoseUpdatesWillBeRefused) {
  const auto refused = [](const std::string& lines) {
    const auto told = notices_of(table("t", lines));
    return std::ranges::count_if(
        told, [](const auto& text) { return text.contains("updates of table t will be refused"); });
  };
  EXPECT_EQ(refused(" agent = a:1|b:1:x\n agent = c:1|d:1:x"), 1) << "once per table";
  EXPECT_EQ(refused(" dialect = http\n route = /t\n agent = a:1|b:1|c:1"), 1);
  EXPECT_EQ(refused(" agent = a:1"), 0);
  EXPECT_EQ(refused(" updates = any\n agent = a:1|b:1:x"), 0);
  EXPECT_EQ(refused(" agent = a:1[role=primary]|b:1[role=replica]"), 0);
  EXPECT_EQ(refused(" ping_type = native\n agent = a:1|b:1:x"), 0) << "pings tell the roles";
}

TEST(Judge, NamesThemInOneNoticeWithTheFirstThree) {
  const auto notices_with = [](std::size_t tables) {
    std::string text;
    for (std::size_t i = 1; i <= tables; ++i)
      text += table(fmt::format("t{}", i), " agent = a:1|b:1:x\n agent = c:1|d:1:x");
    return notices_of(text);
  };
  const std::pair<std::size_t, std::string_view> cases[] = {
      {1, "c:3:10: updates of table t1 will be refused: "},
      {3, "c:3:10: updates of 3 tables (t1, t2, t3) will be refused: "},
      {4, "c:3:10: updates of 4 tables (t1, t2, t3 and 1 more) will be refused: "},
      {1000, "c:3:10: updates of 1000 tables (t1, t2, t3 and 997 more) will be refused: "},
  };
  for (const auto& [tables, begins] : cases) {
    const auto told = notices_with(tables);
    ASSERT_EQ(told.size(), 1U) << tables;
    EXPECT_TRUE(told.front().starts_with(begins)) << told.front();
  }
}

TEST(Judge, NamesReadPreferencesThatTablesWithoutRolesIgnore) {
  const auto told = [](const std::string& lines) {
    return notices_of(table("t", " updates = any\n" + lines));
  };
  const auto prefers = [&](const std::string& mode, const std::string& lines) {
    return told(" read_preference = " + mode + "\n" + lines);
  };
  const std::string equal = " agent = a:1|b:1:x\n agent = c:1|d:1:x";
  const auto of_mode = prefers("secondaryPreferred", equal);
  ASSERT_EQ(of_mode.size(), 1U);
  EXPECT_TRUE(
      of_mode.front().starts_with("c:4:20: warning: read_preference = secondaryPreferred "
                                  "chooses none: the mirrors of table t have no roles"))
      << of_mode.front();
  EXPECT_EQ(prefers("nearest", equal), std::vector<std::string>()) << "it has a latency window";
  EXPECT_EQ(prefers("nearest", " tag_sets = dc:ny|\n max_staleness = 2m\n" + equal),
            (std::vector<std::string>{
                "c:5:13: warning: tag_sets has no effect: the mirrors of table t have no roles; "
                "it has with tags_in_flat = 1",
                "c:6:18: warning: max_staleness has no effect: the mirrors of table t have no "
                "roles"}));
  for (const auto* roles : {" agent = a:1[role=primary]|b:1[role=replica]", " agent = a:1",
                            " ping_type = native\n agent = a:1|b:1:x"})
    EXPECT_EQ(prefers("primary", roles), std::vector<std::string>()) << roles;
}

TEST(Topology, RefusesTagsAndALimitOfStalenessThatAreGivenTwice) {
  Built built;
  EXPECT_FALSE(built.build(table("t",
                                 " agent = a:1\n max_staleness = 2m\n tag_sets = dc:sf\n"
                                 " read_preference = "
                                 "mode=nearest;tags=dc:ny;maxStalenessSeconds=120")));
  std::vector<std::string> told;
  for (const auto& problem : built.problems) told.push_back(text(problem));
  const std::string twice =
      " is given twice: read_preference = mode=nearest;tags=dc:ny;maxStalenessSeconds=120 has it, "
      "too";
  EXPECT_EQ(told, (std::vector{"c:5:13: tag_sets" + twice, "c:4:18: max_staleness" + twice}));
}

TEST(Judge, NamesALimitOfStalenessForWhichSearchesAreRefused) {
  for (const auto* agents : {" agent = a:1[role=primary]|b:1[role=replica]",
                             " ping_type = native\n agent = a:1|b:1:x"}) {
    const auto told = notices_of(
        table("t", std::string(" read_preference = nearest\n max_staleness = 30s\n") + agents));
    ASSERT_EQ(told.size(), 1U) << agents;
    EXPECT_TRUE(
        told.front().starts_with("c:4:18: warning: with roles, searches of table t are "
                                 "refused: maxStalenessSeconds is 30"))
        << told.front();
  }
}

TEST(Reload, UnchangedMirrorSetsStayAndOthersAreReplaced) {
  Built built;
  const auto before = built.build(table("t", " agent = a:1|b:1:x\n agent = c:1|d:1:x"));
  ASSERT_TRUE(before);
  const auto set = [](const auto& topology, std::size_t shard) {
    return topology->find("t")->shards[shard]->mirrors.get();
  };
  // A new line before them and another time-out: the sets are kept, although their positions
  // change.
  const auto moved =
      built.build(table("t", " agent = e:1|f:1:x\n agent = a:1|b:1:x\n agent_query_timeout = 1s"));
  ASSERT_TRUE(moved);
  EXPECT_EQ(set(moved, 1), set(before, 0));
  EXPECT_NE(set(moved, 0), set(before, 1));
  for (const auto& changed :
       {table("t", " agent = a:1|b:1:y"), table("t", " agent = a:1|b:1:x\n ha_strategy = noerrors"),
        "searchd {\n karma_compound = 1\n}\n" + table("t", " agent = a:1|b:1:x")}) {
    const auto other = built.build(changed);
    ASSERT_TRUE(other) << changed;
    EXPECT_NE(set(other, 0), set(before, 0)) << changed;
  }
}

TEST(Reload, OtherLimitsOfRetriesAndBreakersLeaveTheMirrorsAsTheyAre) {
  Built built;
  const auto line = table("t", " agent = a:1|b:1:x");
  const auto shard = [](const auto& topology) { return topology->find("t")->shards[0]; };
  auto before = shard(built.build(line));
  for (const auto* lines : {"retry_budget_percent = 30", "retry_budget_min = 9", "breaker = 1",
                            "breaker = 1\n breaker_reads = 2",
                            "breaker = 1\n breaker_reads = 2\n ha_ping_interval = 5s"}) {
    const auto text = std::string("searchd {\n ").append(lines).append("\n}\n").append(line);
    const auto after = shard(built.build(text));
    EXPECT_EQ(after->mirrors, before->mirrors) << lines;
    EXPECT_NE(after->protection, before->protection) << lines;
    EXPECT_EQ(after->protection->breaker.has_value(), std::string_view(lines).contains("breaker"));
    EXPECT_EQ(shard(built.build(text)), after) << lines;
    before = after;
  }
  built.build(
      "searchd {\n overload_max_retries = 1\n ha_ping_interval = 5s\n breaker = 1\n"
      " breaker_reads = 2\n}\n" +
      line);
  EXPECT_EQ(shard(built.now), before) << "rules of the table";
  EXPECT_EQ(built.now->find("t")->retry_rules.overload_max_retries, 1u);
}

Candidates only(std::size_t mirror) {
  Candidates one;
  one.insert(mirror);
  return one;
}

/// The first shard of the only table in the current topology.
struct Seen {
  explicit Seen(const Built& built) : shard(built.now->tables[0]->shards[0]) {}
  Mirror& mirror(std::size_t i) const { return (*shard->mirrors)[i]; }
  double karma(std::size_t i) const { return mirror(i).karma(); }
  std::shared_ptr<Shard> shard;
};

TEST(Reload, AMirrorKeepsItsDataWhenOthersAreAddedOrRemoved) {
  Built built;
  built.build(table("t", " agent = a:1|b:1:x"));
  const TimePoint now(1000 * kPeriod);
  {
    const Seen before(built);
    before.shard->mirrors->refresh(now);
    before.mirror(0).tally.attempted(1);
    before.mirror(0).latency.add(0, now, std::chrono::milliseconds(1));
    before.mirror(1).latency.add(0, now, std::chrono::milliseconds(4));
    before.mirror(0).record->quantiles.add(0, now, std::chrono::milliseconds(1));
    before.shard->mirrors->refresh(now + kPeriod);
    ASSERT_NEAR(before.karma(0), 0.8, 0.001);
  }
  // One more, in front, and another strategy: the others share what it leaves them.
  built.build(table("t", " agent = c:1|a:1|b:1:x\n ha_strategy = noerrors"));
  {
    const Seen grown(built);
    EXPECT_NEAR(grown.karma(0), 1.0 / 3, 0.001);
    EXPECT_NEAR(grown.karma(1), 0.8 * 2 / 3, 0.001);
    EXPECT_NEAR(grown.karma(2), 0.2 * 2 / 3, 0.001);
    EXPECT_EQ(grown.mirror(0).tally.attempts(), 0u);
    EXPECT_EQ(grown.mirror(1).tally.attempts(), 1u);
    EXPECT_EQ(grown.mirror(1).latency.sum(1000, 1000).mean(), std::chrono::milliseconds(1));
    EXPECT_EQ(grown.mirror(0).latency.sum(1000, 1000).mean(), std::nullopt);
    grown.shard->mirrors->refresh(now + std::chrono::seconds(1));
    EXPECT_EQ(grown.shard->mirrors->recent_latency().samples, 1u) << "what hedges go by";
  }
  built.build(table("t", " agent = a:1|b:1:y"));
  const Seen changed(built);
  EXPECT_EQ(changed.mirror(0).tally.attempts(), 0u) << "another table there";
}

TEST(Reload, AFailureOfAMirrorIsKeptWhenOthersAreAddedOrLimitsChange) {
  Built built;
  const std::string breaker = "searchd {\n breaker = 1\n breaker_reads = 1\n}\n";
  built.build(breaker + table("t", " agent = a:1|b:1|c:1:x"));
  const TimePoint now(1000 * kPeriod);
  {
    auto& protection = *Seen(built).shard->protection;
    protection.unavailable.mark(1, now, kPeriod);
    protection.behind.mark(2, 7, now + kPeriod);
    protection.standings.ended(0, Outcome::connect_failed);
    for (int i = 0; i < 2; ++i) protection.breaker->failed(0, Operation::read, now);
    while (protection.budget.take(RetryBudget::For::untried)) continue;
    EXPECT_EQ(protection.budget.saved(), 0u);
    while (protection.tokens.take()) continue;
  }
  const auto shifted = breaker + table("t", " agent = d:1|a:1|b:1|c:1:x");
  for (const auto& next :
       {shifted, "searchd {\n retry_budget_percent = 30\n breaker = 1\n breaker_reads = 1\n}\n" +
                     table("t", " agent = d:1|a:1|b:1|c:1:x")}) {
    built.build(next);
    const Seen seen(built);
    auto& protection = *seen.shard->protection;
    const auto& view = *seen.shard->mirrors->view(0);
    EXPECT_EQ(protection.unavailable.marked(view.picture, false, now), only(2)) << next;
    EXPECT_EQ(protection.behind.behind_others(view, now), only(3));
    EXPECT_EQ(protection.standings.unreachable(), only(1));
    EXPECT_TRUE(protection.standings.any_unreachable());
    EXPECT_EQ(protection.breaker->tripped(now), only(1));
    EXPECT_EQ(protection.budget.saved(), 0u);
    EXPECT_EQ(protection.tokens.tenths(), 0);
    EXPECT_FALSE(protection.standings.of(0).known);
  }
}

TEST(Reload, CountsOfASplitShardGoOnInOneOfItsParts) {
  Built built;
  const std::string outlier = "searchd {\n outlier = on\n}\n";
  built.build(outlier + table("t", " agent = a:1|b:1:x"));
  auto& budget = Seen(built).shard->protection->budget;
  while (budget.take(RetryBudget::For::untried)) continue;
  const auto given = budget.given();
  ASSERT_GT(given, 0U);
  built.build(outlier + table("t", " agent = b:1:x\n agent = a:1|c:1:x"));
  const auto& shards = built.now->find("t")->shards;
  EXPECT_EQ(shards[0]->protection->budget.given(), given);
  EXPECT_EQ(shards[1]->protection->budget.given(), 0U);
  EXPECT_EQ(shards[1]->protection->budget.saved(), 0U);
}

TEST(Reload, QueriesThatWaitForASlotOfAFormerSetAreCountedInOneNewSet) {
  Built built;
  built.build(table("t", " agent = a:1|b:1:x"));
  auto& first = Seen(built).shard->mirrors->wait_queue();
  const auto former = built.now;
  first.waiting = 3;
  first.refused = 2;
  const auto now = [&](std::size_t shard) {
    return built.now->find("t")->shards[shard]->mirrors->wait_queue().status();
  };
  for (const auto* lines : {" agent = b:1|a:1|c:1:x", " agent = b:1:x\n agent = a:1|c:1:x",
                            " agent = b:1|d:1:x\n agent = a:1|d:1:x"}) {
    built.build(table("t", lines));
    EXPECT_EQ(now(0).waiting, 3U) << lines;
    EXPECT_EQ(now(0).refused, 2U) << lines;
  }
  EXPECT_EQ(now(1).waiting, 0U);
  first.waiting = 1;
  ++first.waited;
  EXPECT_EQ(now(0).waiting, 1U);
  EXPECT_EQ(now(0).waited, 1U);
}

TEST(Reload, TheStateFromPingsMovesToTheNewSet) {
  Built built;
  const auto line = [](const std::string& mirrors) {
    return table("t", " agent = " + mirrors + "[ping_type=native]\n");
  };
  built.build(line("a:1|b:1:x"));
  const TimePoint now(1000 * kPeriod);
  const Seen before(built);
  before.shard->mirrors->ping_answered(0, {.role = Role::primary, .set = "s", .api = kNewestApi},
                                       std::chrono::milliseconds(3), now);
  before.shard->mirrors->ping_answered(1, {.role = Role::replica, .set = "s", .api = kNewestApi},
                                       std::chrono::milliseconds(3), now);
  ASSERT_EQ(before.shard->mirrors->view(0)->primary, 0u);
  built.build(line("b:1|a:1|c:1:x"));
  const Seen after(built);
  const auto& view = *after.shard->mirrors->view(1);
  EXPECT_EQ(view.primary, 1u);
  EXPECT_EQ(view.picture.kind, SetKind::roles);
  EXPECT_EQ(view.picture.mirrors[0].role, Role::replica);
  EXPECT_EQ(view.picture.mirrors[1].rtt, std::chrono::milliseconds(3));
  EXPECT_EQ(view.picture.mirrors[2].role, Role::unknown);
}

TEST(Reload, AgentsKeepTheirStatisticsWhileAnyTableNamesThem) {
  Built built;
  auto first = built.build(table("one", " agent = a:1:x\n agent = b:1:x"));
  const auto* a = first->agents[0].get();
  first->agents[0]->counters.errors_in_a_row = 7;
  const auto id = a->id;
  auto second = built.build(table("two", " agent = c:1|a:1:y"));
  EXPECT_EQ(second->agents[1].get(), a);
  EXPECT_EQ(second->agents[1]->counters.errors_in_a_row, 7u);
  first.reset();
  second.reset();
  built.build(table("two", " agent = c:1:y"));  // no table names it any more
  const auto again = built.build(table("two", " agent = a:1:y"));
  EXPECT_EQ(again->agents[0]->counters.errors_in_a_row, 0u);
  EXPECT_NE(again->agents[0]->id, id);  // its pools are not those of before
}

TEST(Reload, OneWithProblemsChangesNothing) {
  Built built;
  const auto before = built.build(table("t", " agent = a:1|b:1:x"));
  before->agents[0]->counters.errors_in_a_row = 3;
  EXPECT_EQ(built.build(table("t", " agent = a:1|b:1:x\n ha_strategy = nosuch")), nullptr);
  EXPECT_EQ(built.now, before);
  const auto after = built.build(table("t", " agent = a:1|b:1:x"));
  EXPECT_EQ(after->tables[0]->shards[0]->mirrors.get(),
            before->tables[0]->shards[0]->mirrors.get());
  EXPECT_EQ(after->agents[0]->counters.errors_in_a_row, 3u);
}

}  // namespace
}  // namespace karmad
