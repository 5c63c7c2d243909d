#include "agent/transport/pool.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "tests/agent/transport/agent_at.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

using From = Pool::From;

class Pools : public testing::Test {
 protected:
  FakeMirror mirror{[](const std::string&) { return json("{}"); }};
  AgentAt at{mirror.port()};
};

TEST_F(Pools, OpenAConnectionWhenNoneIsIdleAndSayHowLongThatTook) {
  Stop stop(at.loop);
  const auto taken = at.take(From::idle, stop);
  ASSERT_TRUE(taken);
  EXPECT_FALSE(taken->reused);
  EXPECT_TRUE(taken->connect);
  EXPECT_TRUE(taken->connection->reading());  // it would notice that the agent closes
  EXPECT_EQ(at.open(), 1u);
  EXPECT_FALSE(at.pool.unused());
  taken->connection->close();
}

TEST_F(Pools, GiveTheYoungestIdleConnectionFirst) {
  auto first = at.connection();
  auto second = at.connection();
  const auto *one = first.get(), *two = second.get();
  at.pool.give(std::move(first));
  at.pool.give(std::move(second));
  EXPECT_EQ(at.pool.idle(), 2u);
  Stop stop(at.loop);
  const auto taken = at.take(From::idle, stop);
  EXPECT_TRUE(taken->reused);
  EXPECT_FALSE(taken->connect);
  EXPECT_EQ(taken->connection.get(), two);
  const auto last = at.connection();
  EXPECT_EQ(last.get(), one);
  EXPECT_EQ(at.open(), 2u);
  last->close();
  taken->connection->close();
}

TEST_F(Pools, WatchTheFirstConnectionsBeforeOthersGetThem) {
  auto& quiet = at.agent->counts.quiet;
  quiet = 0;
  at.pool.give(at.connection());
  EXPECT_FALSE(at.pool.take_idle());
  EXPECT_EQ(at.pool.idle(), 1u);
  auto same = at.connection();
  EXPECT_EQ(at.open(), 1u);  // the only request waited for the one that was watched
  EXPECT_EQ(quiet, 1u);
  // While several are under way new ones are opened instead.
  auto other = at.connection();
  at.pool.give(std::move(same));
  auto third = at.connection();
  EXPECT_EQ(at.open(), 3u);
  at.pool.give(std::move(other));
  EXPECT_EQ(at.pool.idle(), 2u);
  ASSERT_TRUE(turn_until(at.loop, [&] { return quiet == 3; }));
  // Many answers were not followed by unrequested bytes.
  quiet = Pool::kQuietAnswers;
  at.pool.give(std::move(third));
  EXPECT_EQ(at.pool.idle(), 3u);
  for (int i = 0; i < 3; ++i) {
    const auto handed_on = at.pool.take_idle();
    ASSERT_TRUE(handed_on);
    handed_on->close();
  }
}

TEST_F(Pools, WaitForWatchedConnectionsWhereManyAreOpen) {
  at.agent->counts.quiet = 0;
  std::vector<ConnectionPtr> all;
  for (std::uint32_t i = 0; i < Pool::kFewConnections; ++i) all.push_back(at.connection());
  at.pool.give(std::move(all.back()));
  all.pop_back();
  all.push_back(at.connection());
  EXPECT_EQ(at.open(), Pool::kFewConnections);
  for (const auto& connection : all) connection->close();
}

TEST_F(Pools, DoNotWatchAConnectionWithoutOthersForLong) {
  at.agent->counts.quiet = Pool::kFirstAnswers;
  at.pool.give(at.connection());
  const auto connection = at.pool.take_idle();
  ASSERT_TRUE(connection);
  connection->close();
}

TEST_F(Pools, OpenANewOneWhenAskedToThoughOthersAreIdle) {
  at.pool.give(at.connection());
  Stop stop(at.loop);
  const auto taken = at.take(From::fresh, stop);
  EXPECT_FALSE(taken->reused);
  EXPECT_EQ(at.pool.idle(), 1u);
  EXPECT_EQ(at.open(), 2u);
  taken->connection->close();
}

TEST_F(Pools, KeepNoMoreIdleConnectionsThanTheyMay) {
  for (const unsigned keep : {0u, 2u}) {
    at.pool.clear();
    at.agent->connections.change({.kept = keep});
    std::vector<ConnectionPtr> taken;
    for (int i = 0; i < 4; ++i) taken.push_back(at.connection(From::fresh));
    for (auto& connection : taken) at.pool.give(std::move(connection));
    EXPECT_EQ(at.pool.idle(), keep);
    taken.clear();
    EXPECT_TRUE(turn_until(at.loop, [&] { return at.open() == keep; }));
  }
}

TEST_F(Pools, ForgetAnIdleConnectionThatTheAgentClosed) {
  at.pool.give(at.connection());
  at.pool.give(at.connection(From::fresh));
  ASSERT_EQ(at.pool.idle(), 2u);
  ASSERT_TRUE(eventually([&] { return mirror.open_connections() == 2; }));
  mirror.close_all();
  EXPECT_TRUE(turn_until(at.loop, [&] { return at.pool.idle() == 0; }));
  EXPECT_TRUE(turn_until(at.loop, [&] { return at.pool.unused() && at.open() == 0; }));
}

TEST_F(Pools, AConnectionKnowsThatTheAgentClosedItBeforeTheLoopDoes) {
  auto connection = at.connection();
  EXPECT_EQ(connection->look_for_unasked(), Stream::Unasked::nothing);
  ASSERT_TRUE(eventually([&] { return mirror.open_connections() == 1; }));
  mirror.close_all();
  EXPECT_TRUE(eventually([&] { return connection->look_for_unasked() == Stream::Unasked::end; }));
  connection->close();
}

TEST_F(Pools, DoNotTakeBackWhatIsClosed) {
  auto connection = at.connection();
  connection->close();
  at.pool.give(std::move(connection));
  EXPECT_EQ(at.pool.idle(), 0u);
  EXPECT_TRUE(turn_until(at.loop, [&] { return at.pool.unused(); }));
}

/// A take() that goes on by itself.
struct Taking {
  Taking(AgentAt& at, std::vector<int>& order, int number) : stop(at.loop) {
    spawn(run(at.pool, order, number));
  }
  Task<void> run(Pool& pool, std::vector<int>& order, int number) {
    result = co_await pool.take(From::idle, stop);
    order.push_back(number);
  }
  bool done() const { return result.has_value(); }
  Stop stop;
  std::optional<std::expected<Pool::Taken, NoConnection>> result;
};

TEST_F(Pools, ServeWaitingRequestsInTheirOrder) {  // SD-025
  at.agent->connections.change({.connections = 1});
  std::vector<int> order;
  Taking first(at, order, 1);
  ASSERT_TRUE(turn_until(at.loop, [&] { return first.done(); }));
  Taking second(at, order, 2);
  Taking third(at, order, 3);
  EXPECT_EQ(at.agent->counts.waiting, 2u);
  EXPECT_EQ(at.open(), 1u);
  EXPECT_FALSE(at.pool.unused());  // a request waits here
  at.pool.give(std::move((*first.result)->connection));
  ASSERT_TRUE(turn_until(at.loop, [&] { return second.done(); }));
  EXPECT_FALSE(third.done());
  (*second.result)->connection->close();
  second.result.reset();  // frees the place, not the connection
  ASSERT_TRUE(turn_until(at.loop, [&] { return third.done(); }));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE((*third.result)->reused);
  EXPECT_EQ(at.agent->counts.waiting, 0u);
  (*third.result)->connection->close();
}

TEST_F(Pools, WaitForAConnectionNoLongerThanTheyMay) {  // SS-111
  at.agent->connections.change({.connections = 1});
  auto only = at.connection();
  for (const auto why : {StopReason::connect_timeout, StopReason::cancelled}) {
    std::vector<int> order;
    Taking waiting(at, order, 1);
    EXPECT_FALSE(waiting.done());
    waiting.stop.request(why);
    ASSERT_TRUE(waiting.done());
    ASSERT_FALSE(*waiting.result);
    EXPECT_EQ(waiting.result->error().outcome,  // never the agent's fault
              why == StopReason::cancelled ? Outcome::cancelled : Outcome::local_error);
    EXPECT_EQ(at.agent->counts.waiting, 0u);
  }
  only->close();
}

/// This process may open no further descriptor while it lives.
struct NoDescriptors {
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before);
    const int next = ::dup(0);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  rlimit before{};
};

// A shortage of this process is not the agent's: requests wait for a connection.
TEST_F(Pools, WaitForADescriptor) {
  std::vector<int> order;
  std::optional<NoDescriptors> none(std::in_place);
  Taking first(at, order, 1);
  Taking second(at, order, 2);
  ASSERT_TRUE(turn_until(at.loop, [&] { return at.loop.shortages.get() >= 3; }));
  EXPECT_FALSE(first.done() || second.done());
  EXPECT_EQ(at.agent->counts.waiting, 2u);
  EXPECT_FALSE(at.pool.unused());
  none.reset();
  ASSERT_TRUE(turn_until(at.loop, [&] { return first.done() && second.done(); }));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  for (const auto* taking : {&first, &second}) {
    ASSERT_TRUE(*taking->result);
    (*taking->result)->connection->close();
  }
}

TEST_F(Pools, ReuseAConnectionInsteadOfADescriptorThatIsNotThere) {
  auto lasting = at.connection();
  std::vector<int> order;
  const NoDescriptors none;
  Taking waiting(at, order, 1);
  ASSERT_TRUE(turn_until(at.loop, [&] { return at.loop.shortages.get() > 0; }));
  EXPECT_FALSE(waiting.done());
  at.pool.give(std::move(lasting));
  ASSERT_TRUE(turn_until(at.loop, [&] { return waiting.done(); }));
  ASSERT_TRUE(*waiting.result);
  EXPECT_TRUE((*waiting.result)->reused);
  (*waiting.result)->connection->close();
}

TEST_F(Pools, SayWhatWasMissingWhenTheTimeIsOver) {
  std::vector<int> order;
  const NoDescriptors none;
  Taking waiting(at, order, 1);
  ASSERT_TRUE(turn_until(at.loop, [&] { return at.loop.shortages.get() > 0; }));
  waiting.stop.request(StopReason::connect_timeout);
  ASSERT_TRUE(waiting.done());
  ASSERT_FALSE(*waiting.result);
  EXPECT_EQ(waiting.result->error().outcome, Outcome::local_error);
  EXPECT_EQ(waiting.result->error().why,
            "karmad could open no connection in time: Too many open files (see ulimit -n, "
            "net.ipv4.ip_local_port_range)");
}

/// Many requests that take connections at the same time.
struct Crowd {
  Crowd(AgentAt& at, int size) {
    for (int i = 0; i < size; ++i) all.push_back(std::make_unique<Taking>(at, order, i));
  }
  bool done() const { return order.size() == all.size(); }
  bool in_order() const { return std::ranges::is_sorted(order); }
  std::vector<int> order;
  std::vector<std::unique_ptr<Taking>> all;
};

// One refusal is the result for all waiting requests: none polls the clock, and none is resumed
// from within the end of another one.
TEST(PoolWithoutAnAgent, RefusesAllWaitingRequestsAtOnce) {
  ClosedPort closed;
  AgentAt at(closed.port());
  at.agent->connections.change({.connecting = 2});
  Crowd crowd(at, 20'000);
  EXPECT_EQ(at.agent->counts.waiting, 20'000u - 2);
  at.loop.io.restart();
  for (int turns = 0; turns < 20 && !crowd.done(); ++turns) at.loop.io.run_one_for(kSoon);
  ASSERT_TRUE(crowd.done());
  for (const auto& taking : crowd.all) {
    ASSERT_FALSE(*taking->result);
    EXPECT_EQ(taking->result->error().outcome, Outcome::connect_failed);
    EXPECT_EQ(taking->result->error().why, "Connection refused");
  }
  EXPECT_EQ(at.agent->counts.waiting, 0u);
  EXPECT_TRUE(turn_until(at.loop, [&] { return at.pool.unused(); }));
}

// One connection is open and the port is closed: waiting requests get the open connection.
TEST_F(Pools, GoOnWaitingForAnOpenConnectionThoughANewOneIsRefused) {
  auto lasting = at.connection();
  ClosedPort closed;
  Endpoint nowhere = asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(),
                                             static_cast<std::uint16_t>(closed.port()));
  const auto addresses = *at.agent->endpoints();
  at.agent->endpoints({nowhere});
  at.agent->connections.change({.connections = 2, .connecting = 1});
  std::vector<int> order;
  Taking refused(at, order, 1);
  at.agent->connections.change({.connections = 1, .connecting = 1});
  Taking waiting(at, order, 2);
  ASSERT_TRUE(turn_until(at.loop, [&] { return refused.done(); }));
  EXPECT_FALSE(*refused.result);
  at.loop.io.poll();
  EXPECT_FALSE(waiting.done());
  at.agent->endpoints(addresses);  // a connection to another address would not be used again
  at.pool.give(std::move(lasting));
  ASSERT_TRUE(turn_until(at.loop, [&] { return waiting.done(); }));
  ASSERT_TRUE(*waiting.result);
  EXPECT_TRUE((*waiting.result)->reused);
  (*waiting.result)->connection->close();
}

TEST_F(Pools, ServeOneForEachConnectionThatIsClosed) {
  at.agent->connections.change({.connections = 3});
  std::vector<ConnectionPtr> open;
  for (int i = 0; i < 3; ++i) open.push_back(at.connection(From::fresh));
  Crowd crowd(at, 5);
  open[0]->close();
  open[1]->close();
  open.resize(3);
  open.erase(open.begin(), open.begin() + 2);
  ASSERT_TRUE(turn_until(at.loop, [&] { return crowd.order.size() == 2; }));
  EXPECT_TRUE(crowd.in_order());
  EXPECT_EQ(at.agent->counts.waiting, 3u);
  at.agent->connections.change({.connections = 6});  // a reload
  ASSERT_TRUE(turn_until(at.loop, [&] { return crowd.done(); }));
  for (auto& taking : crowd.all) (*taking->result)->connection->close();
  open[0]->close();
}

// It was woken and gave up at the same moment: the connection goes to the next one in the queue.
TEST_F(Pools, PassOnAConnectionThatTheFirstInTheQueueDidNotTake) {
  at.agent->connections.change({.connections = 1});
  auto only = at.connection();
  std::vector<int> order;
  Taking first(at, order, 1);
  Taking second(at, order, 2);
  only->close();
  only.reset();
  first.stop.request(StopReason::cancelled);
  ASSERT_TRUE(turn_until(at.loop, [&] { return second.done(); }));
  ASSERT_TRUE(*second.result);
  (*second.result)->connection->close();
}

TEST(PoolOfASlowAgent, RefusesRequestsWithNoMoreTimeThanAFailedConnectTook) {
  FullPort full;
  AgentAt at(std::atoi(full.address().c_str() + full.address().find(':') + 1));
  at.agent->connections.change({.connecting = 1});
  std::vector<int> order;
  Taking first(at, order, 1);
  first.stop.arm(Loop::now() + 500ms, StopReason::connect_timeout);
  Taking patient(at, order, 2);
  patient.stop.arm(Loop::now() + std::chrono::hours(1), StopReason::connect_timeout);
  Taking third(at, order, 3);
  third.stop.arm(Loop::now() + 950ms, StopReason::connect_timeout);
  ASSERT_TRUE(turn_until(at.loop, [&] { return order.size() == 2; }));
  EXPECT_EQ(order, (std::vector<int>{1, 3}));
  EXPECT_EQ(first.result->error().outcome, Outcome::connect_timeout);
  EXPECT_EQ(third.result->error().outcome, Outcome::connect_timeout)
      << "and not that it had no turn";
  patient.stop.request(StopReason::cancelled);
  ASSERT_TRUE(turn_until(at.loop, [&] { return patient.done(); }));
}

TEST_F(Pools, UseNoConnectionOfAnOlderGeneration) {  // SD-020, SD-024
  auto idle = at.connection();
  auto in_use = at.connection(From::fresh);
  EXPECT_EQ(idle->generation, 0u);
  at.pool.give(std::move(idle));
  at.agent->discard_connections(1);
  EXPECT_TRUE(turn_until(at.loop, [&] { return at.open() == 1; })) << "the unused one is closed";
  EXPECT_FALSE(at.pool.ready());
  at.pool.give(std::move(in_use));
  EXPECT_EQ(at.pool.idle(), 0u);
  EXPECT_TRUE(turn_until(at.loop, [&] { return at.open() == 0; }));
  const auto next = at.connection();
  EXPECT_EQ(next->generation, 1u);
  next->close();
}

TEST(PoolOfASlowAgent, EstablishesFewConnectionsAtATime) {  // SD-025
  FullPort full;
  AgentAt at(std::atoi(full.address().c_str() + full.address().find(':') + 1));
  at.agent->connections.change({.connecting = 2});
  std::vector<int> order;
  Taking first(at, order, 1);
  Taking second(at, order, 2);
  Taking third(at, order, 3);
  EXPECT_EQ(at.agent->counts.waiting, 1u);
  first.stop.request(StopReason::connect_timeout);
  ASSERT_TRUE(turn_until(at.loop, [&] { return at.agent->counts.waiting == 0; }));
  second.stop.request(StopReason::cancelled);
  third.stop.request(StopReason::cancelled);
  ASSERT_TRUE(turn_until(at.loop, [&] { return order.size() == 3; }));
}

TEST(PoolWithoutAnAgent, ReportsTheErrorOfAFailedConnect) {
  ClosedPort closed;
  AgentAt at(closed.port());
  Stop stop(at.loop);
  const auto taken = at.take(From::idle, stop);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().outcome, Outcome::connect_failed);
  EXPECT_EQ(taken.error().why, "Connection refused");
  EXPECT_TRUE(at.pool.unused());
  EXPECT_EQ(at.open(), 0u);
}

TEST(PoolWithoutAnAgent, EndsConnectingForEveryReason) {
  FullPort full;
  AgentAt at(std::atoi(full.address().c_str() + full.address().find(':') + 1));
  const struct {
    StopReason why;
    Outcome outcome;
  } cases[] = {{StopReason::connect_timeout, Outcome::connect_timeout},
               {StopReason::query_timeout, Outcome::query_timeout},
               {StopReason::deadline, Outcome::cancelled},
               {StopReason::cancelled, Outcome::cancelled}};
  for (const auto& c : cases) {
    Stop stop(at.loop);
    stop.arm(Loop::now() + std::chrono::milliseconds(20), c.why);
    const auto taken = at.take(From::idle, stop);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().outcome, c.outcome);
    EXPECT_FALSE(taken.error().why.empty());
    EXPECT_TRUE(at.pool.unused());
  }
}

TEST(PoolOfAName, LooksItUp) {
  FakeMirror mirror([](const std::string&) { return json("{}"); });
  Loop loop(0, 1 << 20, 1);
  auto agent = std::make_shared<Agent>(
      Address{.host = "localhost", .port = static_cast<std::uint16_t>(mirror.port())}, 0, 1,
      std::chrono::seconds(60));
  EXPECT_EQ(agent->endpoints(), nullptr);
  Pool pool(loop, agent, agent->connections, LookUp::at_load);
  {
    Stop stop(loop);
    const auto taken = result_of(loop, pool.take(From::idle, stop));
    ASSERT_TRUE(taken) << taken.error().why;
    EXPECT_NE(agent->endpoints(), nullptr);
    taken->connection->close();
  }
  EXPECT_TRUE(turn_until(loop, [&] { return pool.unused(); }));
}

}  // namespace
}  // namespace karmad::test
