// `max_in_flight`: how many attempts a mirror gets at a time, and which queries wait for a slot.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/fake_set.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

std::string limited(const std::string& more) {
  return taking_turns("max_in_flight = " + more);
}

Pending pending(const Master& master, std::string_view fields = {}) {
  return Pending(master, "/search", kFindAll, fields);
}

bool has_waiting(const Master& master, std::int64_t queries) {
  return eventually([&] { return master.count("max_in_flight_waiting") == queries; });
}

void expect_overloaded(const Response& response) {
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.fields.at("retry-after"), "1");
  EXPECT_EQ(response.fields.at("x-error-labels"), "SystemOverloadedError, RetryableError");
  EXPECT_EQ(at(response.body, "/error/code"), "462");
}

TEST(MaxInFlight, AFullMirrorIsLeftOutAndAnotherOneAsked) {
  FakeSet mirrors(2);
  mirrors[0].hold();
  const RestingMaster master(limited("2"), mirrors.table());
  std::vector<Pending> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(pending(master));
    ASSERT_TRUE(eventually([&] { return mirrors.requests() == i + 1u; }));
  }
  EXPECT_EQ(mirrors[0].busy(), 2);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(mirrors[0].requests(), 2u);
  EXPECT_EQ(mirrors[1].requests(), 12u);
  EXPECT_EQ(master.count("max_in_flight_waited"), 0);
  mirrors[0].release();
  for (auto& each : held) EXPECT_EQ(each.answer().status, 200);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(mirrors[0].requests(), 4u);
}

TEST(MaxInFlight, IsNeverExceededByManyClients) {
  FakeSet mirrors(3, slowly(1ms));
  const RestingMaster master(
      "workers = 4\n ha_ping_interval = 0\n max_in_flight = 2\n max_in_flight_queue = 100",
      mirrors.table());
  Load load(master.port(), 24, expecting_200(std::string(kFindAll)));
  EXPECT_TRUE(load.more(3000));
  load.stop();
  EXPECT_EQ(load.wrong(), "");
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(mirrors[i].most_busy(), 2);
    EXPECT_GT(mirrors[i].requests(), 0u);
  }
  EXPECT_GT(master.count("max_in_flight_waited"), 0);
  EXPECT_GT(master.count("max_in_flight_wait_us"), 0);
  EXPECT_EQ(master.count("max_in_flight_refused"), 0);
  EXPECT_EQ(master.count("max_in_flight_waiting"), 0);
}

TEST(MaxInFlight, WhereAllAreFullAQueryWaitsAndIsServedWhenOneEnds) {
  FakeSet mirrors(2);
  mirrors[0].hold();
  mirrors[1].hold();
  const RestingMaster master(limited("1"), mirrors.table());
  auto first = pending(master);
  auto second = pending(master);
  ASSERT_TRUE(eventually([&] { return mirrors.requests() == 2; }));
  auto third = pending(master);
  ASSERT_TRUE(has_waiting(master, 1));
  EXPECT_EQ(master.number("/tables/0/shards/0/max_in_flight/waiting"), 1);
  EXPECT_EQ(master.number_of(0, "max_in_flight"), 1);
  EXPECT_EQ(master.status("dstindex_1_waiting", "SHOW AGENT t STATUS"), "1");
  mirrors[1].answer(1);
  ASSERT_TRUE(eventually([&] { return mirrors[1].requests() == 2; }));
  EXPECT_EQ(mirrors[0].requests(), 1u);
  mirrors[0].release();
  mirrors[1].release();
  for (auto* each : {&first, &second, &third}) EXPECT_EQ(each->answer().status, 200);
  EXPECT_EQ(master.number("/tables/0/shards/0/max_in_flight/waited"), 1);
  EXPECT_EQ(master.count("max_in_flight_waiting"), 0);
}

TEST(MaxInFlight, AFullQueueRefusesAtOnce) {
  const struct {
    int per_place;
    int waiting;
  } cases[] = {{0, 0}, {1, 1}, {3, 3}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.per_place);
    FakeSet mirrors(1);
    mirrors[0].hold();
    const RestingMaster master(limited(fmt::format("1\n max_in_flight_queue = {}", c.per_place)),
                               mirrors.table());
    std::vector<Pending> inside;
    for (int i = 0; i <= c.waiting; ++i) inside.push_back(pending(master));
    ASSERT_TRUE(has_waiting(master, c.waiting));
    ASSERT_TRUE(eventually([&] { return mirrors.requests() == 1; }));
    expect_overloaded(master.find());
    EXPECT_EQ(master.count("max_in_flight_refused"), 1);
    EXPECT_EQ(master.number("/tables/0/shards/0/max_in_flight/refused"), 1);
    mirrors[0].release();
    for (auto& each : inside) EXPECT_EQ(each.answer().status, 200);
  }
}

TEST(MaxInFlight, AQueryThatLeavesTheQueueOrTimesOutFreesItsPlace) {
  FakeSet mirrors(1);
  mirrors[0].hold();
  const RestingMaster master(limited("1\n max_in_flight_queue = 1"), mirrors.table());
  auto inside = pending(master);
  ASSERT_TRUE(eventually([&] { return mirrors.requests() == 1; }));
  {
    auto leaves = pending(master);
    ASSERT_TRUE(has_waiting(master, 1));
  }
  ASSERT_TRUE(has_waiting(master, 0));
  const auto late = ask(master.port(), "POST", "/search", kFindAll, "X-Timeout-Ms: 50\r\n");
  expect_overloaded(late);
  EXPECT_TRUE(late.body.contains("all mirrors were full until the query's deadline")) << late.body;
  auto next = pending(master);
  ASSERT_TRUE(has_waiting(master, 1));
  mirrors[0].release();
  EXPECT_EQ(inside.answer().status, 200);
  EXPECT_EQ(next.answer().status, 200);
  EXPECT_EQ(mirrors.requests(), 2u);
}

TEST(MaxInFlight, ASlowShardDoesNotHoldUpAnotherTable) {
  FakeMirror slow([](const auto&) { return nothing_found(); });
  FakeMirror fast([](const auto&) { return nothing_found(); });
  slow.hold();
  const auto table = [](const std::string& name, const FakeMirror& mirror) {
    return fmt::format("table {} {{ type = distributed\n agent = {}:products\n }}\n", name,
                       mirror.address());
  };
  const RestingMaster master(limited("2"), table("slow", slow) + table("t", fast));
  std::vector<Pending> held;
  for (int i = 0; i < 10; ++i)
    held.push_back(Pending(master, "/search", R"({"table":"slow","query":{"match_all":{}}})"));
  ASSERT_TRUE(has_waiting(master, 8));
  expect_overloaded(master.search(R"({"table":"slow","query":{"match_all":{}}})"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(master.find().status, 200);
  slow.release();
  for (auto& each : held) EXPECT_EQ(each.answer().status, 200);
  EXPECT_LE(slow.most_busy(), 2);
}

TEST(MaxInFlight, AFullShardIsMissingWhereAnswersMayBePartial) {
  FakeMirror full(always(nothing_found()));
  FakeMirror other(always(nothing_found()));
  full.hold();
  const auto tables = fmt::format(
      "table only {{ type = distributed\n agent = {0}:products\n }}\n"
      "table t {{ type = distributed\n agent = {0}:products\n agent = {1}:products\n }}\n",
      full.address(), other.address());
  const RestingMaster master(limited("1\n max_in_flight_queue = 0"), tables);
  auto inside = Pending(master, "/search", R"({"table":"only","query":{"match_all":{}}})");
  ASSERT_TRUE(eventually([&] { return full.requests() == 1; }));
  const auto partial = master.find();
  EXPECT_EQ(partial.status, 200);
  EXPECT_TRUE(partial.body.contains("all mirrors are full")) << partial.body;
  expect_overloaded(master.find({}, "X-Partial-Results: deny\r\n"));
  full.release();
  EXPECT_EQ(inside.answer().status, 200);
}

// The limit protects the server for queries of all tables; the strictest setting counts.
TEST(MaxInFlight, BelongsToTheAgentForAllTablesThatShareIt) {
  FakeMirror mirror(always(nothing_found()));
  mirror.hold();
  const auto tables = fmt::format(
      "table a {{ type = distributed\n agent = {0}:products\n max_in_flight = unlimited\n }}\n"
      "table b {{ type = distributed\n agent = {0}:products[max_in_flight=2]|{0}:other\n }}\n"
      "table t {{ type = distributed\n agent = {0}:products\n max_in_flight = 7\n }}\n",
      mirror.address());
  const RestingMaster master(limited("5"), tables);
  EXPECT_EQ(master.number_of(0, "max_in_flight"), 2);
  auto one = Pending(master, "/search", R"({"table":"a","query":{"match_all":{}}})");
  auto two = pending(master);
  ASSERT_TRUE(eventually([&] { return mirror.requests() == 2; }));
  auto three = Pending(master, "/search", R"({"table":"a","query":{"match_all":{}}})");
  ASSERT_TRUE(has_waiting(master, 1));
  mirror.release();
  for (auto* each : {&one, &two, &three}) EXPECT_EQ(each->answer().status, 200);
  EXPECT_EQ(mirror.most_busy(), 2);
}

TEST(MaxInFlight, AReloadChangesTheLimitAndKeepsWhatIsCountedAndWaits) {
  FakeSet mirrors(1);
  mirrors[0].hold();
  RestingMaster master(limited("2"), mirrors.table());
  std::vector<Pending> held;
  for (int i = 0; i < 5; ++i) held.push_back(pending(master));
  ASSERT_TRUE(has_waiting(master, 3));
  ASSERT_TRUE(master.reload(limited("3"), mirrors.table()));
  ASSERT_TRUE(eventually([&] { return mirrors.requests() == 3; }));
  EXPECT_TRUE(has_waiting(master, 2));
  ASSERT_TRUE(master.reload(limited("1"), mirrors.table()));
  ASSERT_TRUE(eventually([&] { return master.number_of(0, "max_in_flight") == 1; }));
  EXPECT_EQ(master.number_of(0, "in_flight"), 3);
  mirrors[0].answer(2);
  ASSERT_TRUE(eventually([&] { return mirrors[0].busy() == 1; }));
  EXPECT_EQ(master.count("max_in_flight_waiting"), 2);
  ASSERT_TRUE(master.reload(limited("unlimited"), mirrors.table()));
  ASSERT_TRUE(eventually([&] { return mirrors.requests() == 5; }));
  mirrors[0].release();
  for (auto& each : held) EXPECT_EQ(each.answer().status, 200);
}

TEST(MaxInFlight, AWaitingQueryIsServedAlthoughAReloadReplacedTheSet) {
  FakeSet mirrors(1);
  mirrors[0].hold();
  RestingMaster master(limited("1"), mirrors.table());
  auto inside = pending(master);
  ASSERT_TRUE(eventually([&] { return mirrors.requests() == 1; }));
  auto waits = pending(master);
  ASSERT_TRUE(has_waiting(master, 1));
  ASSERT_TRUE(master.reload(limited("1"), mirrors.table("ha_strategy = random")));
  EXPECT_EQ(master.number("/tables/0/shards/0/max_in_flight/waited"), 1) << "it counts on";
  EXPECT_EQ(master.number("/tables/0/shards/0/max_in_flight/waiting"), 1);
  EXPECT_TRUE(has_waiting(master, 1));
  auto later = pending(master);
  EXPECT_TRUE(has_waiting(master, 2));
  mirrors[0].release();
  for (auto* each : {&inside, &waits, &later}) EXPECT_EQ(each->answer().status, 200);
  EXPECT_EQ(mirrors[0].most_busy(), 1);
}

TEST(MaxInFlight, AHedgeIsNotMadeWhereTheOtherMirrorsAreFull) {
  FakeSet mirrors(2);
  mirrors[0].hold();
  mirrors[1].hold();
  const RestingMaster master(limited("1\n hedge = 20ms"), mirrors.table());
  auto first = pending(master, "X-Hedge: off\r\n");
  auto second = pending(master, "X-Hedge: off\r\n");
  ASSERT_TRUE(eventually([&] { return mirrors.requests() == 2; }));
  auto third = pending(master);
  ASSERT_TRUE(has_waiting(master, 1));
  mirrors[0].answer(1);
  ASSERT_TRUE(eventually([&] { return mirrors[0].requests() == 2; }));
  EXPECT_EQ(ask(master.port(), "POST", "/search", kFindAll, "X-Timeout-Ms: 100\r\n").status, 429);
  EXPECT_EQ(master.count("hedges"), 0);
  mirrors[0].release();
  mirrors[1].release();
  for (auto* each : {&first, &second, &third}) EXPECT_EQ(each->answer().status, 200);
}

TEST(MaxInFlight, ARetryPassesOverAFullMirror) {
  FakeSet mirrors(2);
  mirrors[1].hold();
  const RestingMaster master(limited("1"), mirrors.table());
  EXPECT_EQ(master.find().status, 200);
  auto inside = pending(master);
  ASSERT_TRUE(eventually([&] { return mirrors[1].requests() == 1; }));
  auto calls = std::make_shared<std::atomic<int>>(0);
  mirrors[0].react(
      [calls](const auto&) { return ++*calls == 1 ? refused(429, "") : nothing_found(); });
  EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(*calls, 2);
  mirrors[1].release();
  EXPECT_EQ(inside.answer().status, 200);
}

TEST(MaxInFlight, ARetryAfterAnErrorWaitsForASlot) {
  FakeSet mirrors(2);
  const RestingMaster master(limited("1"), mirrors.table());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(master.find().status, 200);
  mirrors[1].hold();
  auto inside = pending(master);
  ASSERT_TRUE(eventually([&] { return mirrors[1].requests() == 2; }));
  mirrors[0].react([](const auto&) { return refused(500, ""); });
  auto fails_first = pending(master);
  ASSERT_TRUE(has_waiting(master, 1));
  mirrors[1].release();
  EXPECT_EQ(inside.answer().status, 200);
  EXPECT_EQ(fails_first.answer().status, 200);
  EXPECT_EQ(mirrors[1].most_busy(), 1);
}

TEST(MaxInFlight, AutoShowsItsCurrentLimit) {
  FakeSet mirrors(1, slowly(1ms));
  const RestingMaster master(
      limited("auto\n max_in_flight_min = 3\n max_in_flight_initial = 6\n max_in_flight_max = 8\n "
              "max_in_flight_queue = 100"),
      mirrors.table());
  EXPECT_EQ(master.number_of(0, "max_in_flight"), 6);
  Load load(master.port(), 12, expecting_200(std::string(kFindAll)));
  ASSERT_TRUE(eventually([&] { return mirrors[0].most_busy() > 3; }))
      << "more than the least once the baseline is known";
  load.stop();
  EXPECT_EQ(load.wrong(), "");
  EXPECT_LE(mirrors[0].most_busy(), 8);
}

TEST(MaxInFlight, IsOnlyCountedInMonitorMode) {
  for (const bool off : {false, true}) {
    FakeSet mirrors(1);
    mirrors[0].hold();
    const RestingMaster master(limited(off ? "1\n admission = off" : "1\n admission = monitor"),
                               mirrors.table());
    std::vector<Pending> held;
    for (int i = 0; i < 4; ++i) held.push_back(pending(master));
    ASSERT_TRUE(eventually([&] { return mirrors.requests() == 4; }));
    EXPECT_EQ(master.count("max_in_flight_over"), off ? 0 : 3);
    EXPECT_EQ(master.count("max_in_flight_waited"), 0);
    mirrors[0].release();
    for (auto& each : held) EXPECT_EQ(each.answer().status, 200);
  }
}

TEST(MaxInFlight, AWrongLimitIsReportedAtItsPlace) {
  FakeSet mirrors(1);
  RestingMaster master(limited("1"), mirrors.table());
  EXPECT_TRUE(master.reload(limited("lots"), mirrors.table()));
  EXPECT_TRUE(master.process().output().contains(
      "max_in_flight is unlimited, auto or a number up to 1000000, not 'lots'"))
      << master.process().output();
}

}  // namespace
}  // namespace karmad::test
