#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "balancer/rules/admission/throughput_probe.hpp"
#include "tests/balancer/admission/closed_cluster.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using test::ClosedCluster;
using test::ClusterOf;

// OURS, docs/decisions/011.

/// One pool that weighs evidence, and a clock.
struct Weighing {
  explicit Weighing(unsigned initial)
      : probe({.initial = initial, .evidence = 100, .writes = false}, 1) {
    sample(0, 0, 0);
  }
  std::optional<ProbeDecision> sample(std::uint32_t peak, std::uint64_t more_finished,
                                      std::uint64_t more_waited) {
    now += 1s;
    finished += more_finished;
    waited += more_waited;
    return probe.run({{probe.status().sizes.reads, peak, finished, waited}, {}}, now);
  }
  std::uint32_t size() const { return probe.status().sizes.reads; }

  ThroughputProbe probe;
  TimePoint now{1s};
  std::uint64_t finished = 0;
  std::uint64_t waited = 0;
};

TEST(ProbeEvidence, WeighsLooksInTurnUntilTheyDecide) {
  Weighing pool(16);
  pool.sample(16, 1000, 1000);
  EXPECT_EQ(pool.size(), 32U) << "begins with a long step";
  pool.sample(32, 1200, 1000);
  EXPECT_EQ(pool.size(), 16U) << "50 more than the 150 it must bring do not decide";
  pool.sample(16, 1000, 1000);
  EXPECT_EQ(pool.size(), 32U);
  pool.sample(32, 1201, 1000);
  EXPECT_EQ(pool.size(), 32U);
  EXPECT_EQ(pool.probe.status().counters.times_increased, 1U);
}

TEST(ProbeEvidence, TriesFewerInTurnWhileThereIsTooMuchLoad) {
  Weighing pool(16);
  pool.sample(16, 1000, 1000);
  pool.sample(32, 1000, 1000);
  EXPECT_EQ(pool.size(), 16U) << "more that bring nothing are too many";
  pool.sample(16, 1000, 1000);
  EXPECT_EQ(pool.size(), 11U);
  pool.sample(11, 1100, 1000);
  EXPECT_EQ(pool.size(), 11U);
  EXPECT_EQ(pool.probe.status().counters.times_decreased, 1U);
}

TEST(ProbeEvidence, WaitsForEnoughAnswersToWeigh) {
  Weighing pool(16);
  EXPECT_FALSE(pool.sample(16, 63, 1000));
  EXPECT_TRUE(pool.sample(16, 1, 1000));
}

TEST(ProbeEvidence, FollowsTheLoadWhileHardlyAnybodyWaits) {
  Weighing pool(16);
  pool.sample(16, 100, 49);
  EXPECT_EQ(pool.size(), 19U);
  pool.sample(17, 100, 0);
  EXPECT_EQ(pool.size(), 19U) << "who asks is given, it need not bring more answers";
  pool.sample(17, 100, 0);
  EXPECT_EQ(pool.size(), 16U);
  pool.sample(16, 120, 0);
  EXPECT_EQ(pool.size(), 19U) << "all were out: too few";
}

TEST(ProbeEvidence, BeginsWithALongStepWhenMoreThanTwiceTheServedRequestsCome) {
  for (const bool twice : {true, false}) {
    Weighing pool(16);
    pool.sample(16, 100, 0);
    pool.sample(17, 100, 0);
    ASSERT_EQ(pool.size(), 19U) << "the load has decided";
    pool.sample(19, 100, twice ? 200 : 199);
    EXPECT_EQ(pool.size(), twice ? 38U : 23U);
  }
}

constexpr double kInterval = 0.1;  // s

/// A probed pool in front of a cluster, with more to do than can be done.
class ProbedCluster {
 public:
  ProbedCluster(const ClusterOf& of, std::uint64_t seed, unsigned initial)
      : probe_({.initial = initial, .evidence = 100, .writes = false}, 1),
        cluster_(of, seed, probe_.status().sizes.reads) {}

  void servers(unsigned servers) { cluster_.servers(servers); }

  struct Seen {
    std::uint32_t tickets;  ///< the median over time
    double throughput;
  };
  Seen run_for(double seconds) {
    std::vector<std::uint32_t> sizes;
    const auto before = cluster_.finished();
    for (const auto end = now_ + seconds; now_ < end;
         sizes.push_back(probe_.status().sizes.reads)) {
      now_ += kInterval;
      cluster_.run_until(now_);
      sample();
    }
    std::ranges::nth_element(sizes, sizes.begin() + std::ssize(sizes) / 2);
    return {sizes[sizes.size() / 2], static_cast<double>(cluster_.finished() - before) / seconds};
  }

 private:
  /// As `Probing` does it, with a gradual resize.
  void sample() {
    const auto size = probe_.status().sizes.reads;
    const auto finished = cluster_.finished();
    const ProbeReadings readings{.reads = {size, size, finished, 2 * finished}, .writes = {}};
    const TimePoint now{Micros(std::llround(now_ * 1e6))};
    if (cluster_.out() > size) return;
    if (std::exchange(resizing_, false)) {
      probe_.compare_with(readings, now);
    } else if (probe_.run(readings, now)) {
      cluster_.tickets(probe_.status().sizes.reads);
      resizing_ = probe_.status().sizes.reads < size;
    }
  }

  ThroughputProbe probe_;
  ClosedCluster cluster_;
  bool resizing_ = false;
  double now_ = 0;
};

/// Found once for each: it takes longer than all the probing.
const test::WorthwhileSizes& sizes_for(const ClusterOf& of) {
  static std::map<std::pair<unsigned, double>, test::WorthwhileSizes> known;
  const auto [found, is_new] = known.try_emplace({of.servers, of.crowding});
  if (is_new) found->second = test::worthwhile_sizes(of, ProbeParameters{}.evidence_gain);
  return found->second;
}

/// Within a step of the sizes that are worth their tickets: 20 %, and of few tickets two. Trying
/// costs up to 5 % of the throughput.
void expect_found(const ProbedCluster::Seen& seen, const ClusterOf& of) {
  const auto& sizes = sizes_for(of);
  EXPECT_GE(seen.tickets, std::min(0.8 * sizes.fewest, sizes.fewest - 2.0));
  EXPECT_LE(seen.tickets, std::max(1.2 * sizes.most, sizes.most + 2.0));
  EXPECT_GE(seen.throughput, 0.95 * sizes.throughput);
}

/// Plain queues, whose throughput stays where it is with too many tickets, and agents that become
/// slower by a crowd, so that it falls; each with other chances.
template <class Check>
void each(Check check) {
  for (const auto crowding : {0.0, 0.05})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(testing::Message() << "crowding " << crowding << ", seed " << seed);
      check(ClusterOf{.crowding = crowding}, ClusterOf{.servers = 2, .crowding = crowding}, seed);
    }
}

// 1200 answers a second where all servers are there, 600 where half of them are.

TEST(ProbeSimulation, FindsTheSizeThatIsWorthItFromBelowWithin30Seconds) {  // issue 5
  each([](const ClusterOf& whole, const ClusterOf&, std::uint64_t seed) {
    ProbedCluster cluster(whole, seed, 4);
    cluster.run_for(30);
    expect_found(cluster.run_for(60), whole);
  });
}

TEST(ProbeSimulation, FindsTheSizeThatIsWorthItFromAboveWithinAMinute) {
  each([](const ClusterOf& whole, const ClusterOf&, std::uint64_t seed) {
    ProbedCluster cluster(whole, seed, 100);
    cluster.run_for(60);
    expect_found(cluster.run_for(60), whole);
  });
}

// With plain queues the old size still brings everything, so there is little to learn from.
TEST(ProbeSimulation, FollowsWithinMinutesWhenCapacityHalves) {
  each([](const ClusterOf& whole, const ClusterOf& half, std::uint64_t seed) {
    ProbedCluster cluster(whole, seed, 4);
    cluster.run_for(30);
    cluster.servers(half.servers);
    cluster.run_for(half.crowding > 0 ? 120 : 300);
    expect_found(cluster.run_for(60), half);
  });
}

TEST(ProbeSimulation, FollowsWithin20SecondsWhenCapacityDoubles) {
  each([](const ClusterOf& whole, const ClusterOf& half, std::uint64_t seed) {
    ProbedCluster cluster(half, seed, 4);
    cluster.run_for(40);
    cluster.servers(whole.servers);
    cluster.run_for(20);
    expect_found(cluster.run_for(60), whole);
  });
}

}  // namespace
}  // namespace karmad
