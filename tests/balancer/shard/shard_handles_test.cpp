#include <deque>

#include "balancer/shard/hedged.hpp"
#include "balancer/shard/quorum.hpp"
#include "balancer/shard/retries.hpp"
#include "balancer/shard/shard_query.hpp"
#include "tests/balancer/pipeline/asking.hpp"

namespace karmad {
namespace {

Decision decided(Final final, Reason reason = Reason::initial, Micros pause = {}) {
  return {.final = final, .reason = reason, .pause = pause};
}

/// The handles around an attempt, with the attempt as the test says.
struct AShardHandle : testing::Asking {
  /// Has `handle` see to a search's only shard.
  template <class H>
  void call(H& handle, std::string_view fields = {}) {
    std::string head("POST /search HTTP/1.1\r\nHost: h\r\n");
    head.append(fields);
    const auto asks = [this, &handle](Query& query) { return put(handle, query); };
    ask(asks, head);
  }

  /// What `next` decides, one after the other; then that there is an answer.
  auto next() {
    return [this](ShardCall& call) -> Task<Decision> { return attempt(*this, call); };
  }
  static Task<Decision> attempt(AShardHandle& self, ShardCall& call) {
    self.reasons.push_back(call.part.reason);
    ++call.part.attempts;
    call.part.mirror = &(*call.part.shard->mirrors)[0];
    if (self.decisions.empty()) co_return decided(Final::answered);
    auto next = self.decisions.front();
    self.decisions.pop_front();
    co_return next;
  }

  std::uint64_t counted(Count what) const {
    return worker.counters[static_cast<std::size_t>(what)];
  }

  std::deque<Decision> decisions;
  std::vector<AttemptReason> reasons;  ///< of the attempts, in their order
  std::uint32_t extras = 0;            ///< that the budget counts in the end

 private:
  template <class H>
  Task<Answer> put(H& handle, Query& query) {
    const auto& table = *query.topology->find("t");
    const Selection selection(query.preference, table, query.topology->settings, Operation::read);
    const Parsed parsed;
    const ShardOrder order{table, *query.topology->served("/search")->dialect, parsed, nullptr,
                           selection};
    ShardPart part;
    part.shard = table.shards.front().get();
    begin(query, order, part);
    ShardCall call{query, order, part};
    co_await handle(call);
    part.extra.reset();
    extras = part.shard->protection->budget.extras();
    co_return Answer{};
  }
};

TEST_F(AShardHandle, RetriesStopWithTheAnswer) {
  Retries handle{next()};
  call(handle);
  EXPECT_EQ(reasons, (std::vector{AttemptReason::initial}));
}

// BP-060: at once, each with its reason.
TEST_F(AShardHandle, RetriesAskAsOftenAsTheirNextAllows) {
  decisions = {decided(Final::no, Reason::retry), decided(Final::no, Reason::overload)};
  Retries handle{next()};
  call(handle);
  EXPECT_EQ(reasons,
            (std::vector{AttemptReason::initial, AttemptReason::retry, AttemptReason::overload}));
  EXPECT_EQ(counted(Count::retries), 2U);
  EXPECT_EQ(counted(Count::overload_retries), 1U);
  EXPECT_EQ(extras, 0U);
}

TEST_F(AShardHandle, RetriesStopWhenTheirNextSaysSo) {
  decisions = {decided(Final::limit)};
  Retries handle{next()};
  call(handle);
  EXPECT_EQ(reasons.size(), 1U);
}

TEST_F(AShardHandle, RetriesStopWhenTheBudgetIsEmpty) {
  for (int i = 0; i < 100; ++i) decisions.push_back(decided(Final::no, Reason::retry));
  Retries handle{next()};
  call(handle);
  EXPECT_EQ(reasons.size(), 11U);  // the first, and the ten that are saved up
  EXPECT_EQ(counted(Count::retries_refused), 1U);
}

// CO-004, CO-020: what waits for a told delay comes between the others and takes none of them away.
TEST_F(AShardHandle, RetriesWaitOutWhatAMirrorTold) {
  decisions = {decided(Final::no, Reason::throttled), decided(Final::no, Reason::throttled),
               decided(Final::no, Reason::retry), decided(Final::limit)};
  Retries handle{next()};
  call(handle);
  EXPECT_EQ(reasons, (std::vector{AttemptReason::initial, AttemptReason::throttled,
                                  AttemptReason::throttled, AttemptReason::retry}));
  EXPECT_EQ(counted(Count::throttled_retries), 2U);
  EXPECT_EQ(counted(Count::retries), 3U);
  EXPECT_EQ(counted(Count::overload_retries), 0U);
  EXPECT_TRUE(decisions.empty());
  EXPECT_EQ(extras, 0U);
}

// BP-014: what is queued before its pause ends with the query; nobody is asked after it.
TEST_F(AShardHandle, APauseEndsWhenTheQueryIsStopped) {
  decisions = {decided(Final::no, Reason::overload, std::chrono::hours(1))};
  const auto stopping = [this](ShardCall& call) -> Task<Decision> {
    call.query.stop();
    return attempt(*this, call);
  };
  Retries handle{stopping};
  call(handle);
  EXPECT_EQ(reasons.size(), 1U);
  EXPECT_EQ(extras, 0U);
}

// CO-080, CO-081: an answer that is not final has the next mirror asked at once; it counts.
TEST_F(AShardHandle, ARaceAsksOthersUntilAnAnswerIsFinal) {
  worker.topology(Topology::build(
      *load_text("table t {\n type = distributed\n agent = a:1:x|b:1:x|c:1:x\n}\n").settings,
      {.registry = registry, .loops = loops}, nullptr, problems));
  std::vector<bool> hedges;
  const auto next = [this, &hedges](ShardCall& call) -> Task<void> {
    auto& part = call.part;
    hedges.push_back(part.reason == AttemptReason::hedge);
    part.tried.insert(hedges.size() - 1);
    part.mirror = &(*part.shard->mirrors)[hedges.size() - 1];
    part.outcome = hedges.size() == 3 ? Outcome::answered : Outcome::agent_error;
    part.status = hedges.size() == 3 ? 200 : 503;
    co_return;
  };
  std::string winner;
  const auto racing = [&next, &winner](ShardCall& call) -> Task<void> {
    return [](const auto& asked, std::string& name, ShardCall& with) -> Task<void> {
      const HedgeRules rules{
          .threshold = std::chrono::hours(1), .step = std::chrono::hours(1), .extra = 2};
      co_await race(with, rules, ShardNext(asked));
      name = with.part.mirror->agent->name;
    }(next, winner, call);
  };
  call(racing);
  EXPECT_EQ(hedges, (std::vector{false, true, true}));
  EXPECT_EQ(winner, "c:1");
  EXPECT_EQ(counted(Count::hedges), 2U);
  EXPECT_EQ(counted(Count::hedges_won), 1U);
}

TEST_F(AShardHandle, HedgedIsNotThereUntilItIsInForce) {
  int asked = 0;
  const auto next = [&asked](ShardCall&) -> Task<void> {
    ++asked;
    co_return;
  };
  Hedged handle{next};
  call(handle);
  call(handle, "X-Hedge: 10ms\r\n");  // one mirror only: there is nobody else
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(counted(Count::hedges), 0U);
}

TEST_F(AShardHandle, QuorumIsNotThereUntilItIsAskedFor) {
  int asked = 0;
  const auto next = [&asked](ShardCall& call) -> Task<void> {
    ++asked;
    EXPECT_TRUE(call.part.retries.has_value()) << "its own retries";
    co_return;
  };
  Quorum handle{next};
  call(handle);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(counted(Count::quorum_reads), 0U);
}

}  // namespace
}  // namespace karmad
