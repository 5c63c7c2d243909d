#include "balancer/watch/mirror_condition.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "strategies/random_source.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using Draw = std::function<Micros(SeededRandom&)>;

/// So many answers, that far apart, the newest first.
std::vector<RecentAnswer> answers(std::size_t count, Micros apart, const Draw& draw,
                                  SeededRandom& random) {
  std::vector<RecentAnswer> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back({apart * static_cast<std::int64_t>(i), draw(random)});
  return all;
}

Draw fixed(Micros took) {
  return [took](SeededRandom&) { return took; };
}

Draw exponential(Micros mean) {
  return [mean](SeededRandom& random) {
    return Micros{static_cast<std::int64_t>(-std::log(1 - random.uniform()) *
                                            static_cast<double>(mean.count()))};
  };
}

/// 3 % of the searches are heavy.
Draw with_heavy(int factor = 1) {
  return [factor](SeededRandom& random) {
    return factor *
           (random.uniform() < 0.03 ? 200ms : 3ms + Micros{static_cast<int>(random.below(6000))});
  };
}

/// The slowness beside two equal peers.
std::optional<Slowness> beside(const std::vector<RecentAnswer>& own,
                               const std::vector<RecentAnswer>& a,
                               const std::vector<RecentAnswer>& b, bool was = false) {
  const std::array<std::span<const RecentAnswer>, 2> peers{a, b};
  return slowness(own, peers, was);
}

TEST(ChanceOfEqual, IsExactForAFewAnswersAboveAllOthers) {
  // Three answers above 97 others: once in 161 700 orders of a hundred.
  std::vector<Micros> usual(97, 1ms);
  const std::vector<Micros> own(3, 9ms);
  const auto chance = chance_of_equal(own, usual);
  EXPECT_GT(chance, 1 / 161'700.0);
  EXPECT_LT(chance, 5 / 161'700.0);
}

TEST(ChanceOfEqual, IsHalfAndMoreForUsualAnswersOfAnyNumber) {
  std::vector<Micros> usual;
  for (int i = 1; i <= 500; ++i) usual.push_back(i * 1ms);
  for (const std::size_t count : {1U, 5U, 50U, 3000U}) {
    const std::vector<Micros> own(count, 250ms);
    EXPECT_GT(chance_of_equal(own, usual), 0.5) << count;
  }
  std::vector<Micros> ties(500, 5ms);
  EXPECT_GT(chance_of_equal(std::vector<Micros>(100, 5ms), ties), 0.5);
  std::vector<Micros> none;
  EXPECT_EQ(chance_of_equal(std::vector<Micros>(100, 5ms), none), 1);
  EXPECT_EQ(chance_of_equal({}, ties), 1);
}

// What its name says, tried: the chance of equal samples is below x in a part x of all cases.
TEST(ChanceOfEqual, IsSeldomSmallForEqualMirrors) {
  SeededRandom random(7);
  for (const std::size_t count : {3U, 8U, 40U})
    for (const auto& draw : {exponential(5ms), with_heavy(), fixed(2ms)}) {
      int below = 0;
      for (int i = 0; i < 2000; ++i) {
        std::vector<Micros> usual;
        std::vector<Micros> own;
        for (int k = 0; k < 80; ++k) usual.push_back(draw(random));
        for (std::size_t k = 0; k < count; ++k) own.push_back(draw(random));
        if (chance_of_equal(own, usual) < 0.01) ++below;
      }
      EXPECT_LE(below, 60) << count << " answers: expected are 20 and fewer";
    }
}

TEST(Slowness, FindsAMirrorThatIsThreeTimesSlower) {
  SeededRandom random(1);
  for (const auto& [usual, slower] : {std::pair{fixed(5ms), fixed(15ms)},
                                      {exponential(5ms), exponential(15ms)},
                                      {with_heavy(), with_heavy(3)}}) {
    const auto a = answers(400, 50ms, usual, random);
    const auto b = answers(400, 50ms, usual, random);
    const auto found = beside(answers(200, 50ms, slower, random), a, b);
    ASSERT_TRUE(found);
    EXPECT_GE(found->answers, 80U) << "those of four seconds";
    EXPECT_TRUE(found->p95 && found->peers_p95);
  }
}

TEST(Slowness, FindsAMirrorThatIsHardlyAsked) {
  SeededRandom random(1);
  const auto a = answers(400, 50ms, fixed(300us), random);
  const auto b = answers(400, 50ms, fixed(300us), random);
  EXPECT_TRUE(beside(answers(3, 1500ms, fixed(60ms), random), a, b)) << "three searches";
  EXPECT_FALSE(beside(answers(2, 1500ms, fixed(60ms), random), a, b)) << "two say too little";
  EXPECT_FALSE(beside(answers(3, 100ms, fixed(60ms), random), a, b)) << "a moment";
  auto mixed = answers(3, 1500ms, fixed(60ms), random);
  for (int i = 0; i < 100; ++i) mixed.push_back({4500ms + i * 50ms, 300us});
  EXPECT_TRUE(beside(mixed, a, b)) << "it was quick before";
}

TEST(Slowness, IsNotAFewHeavySearches) {
  SeededRandom random(3);
  for (int i = 0; i < 500; ++i) {
    const auto found =
        beside(answers(80, 50ms, with_heavy(), random), answers(400, 50ms, with_heavy(), random),
               answers(400, 50ms, with_heavy(), random));
    EXPECT_FALSE(found);
  }
}

TEST(Slowness, IsNotAFewMillisecondsNorLessThanTwice) {
  SeededRandom random(1);
  const auto quick = answers(400, 50ms, fixed(200us), random);
  EXPECT_FALSE(beside(answers(200, 50ms, fixed(5ms), random), quick, quick)) << "5 ms";
  EXPECT_TRUE(beside(answers(200, 50ms, fixed(5300us), random), quick, quick));
  const auto slow = answers(400, 50ms, fixed(100ms), random);
  EXPECT_FALSE(beside(answers(200, 50ms, fixed(200ms), random), slow, slow)) << "twice";
  EXPECT_TRUE(beside(answers(200, 50ms, fixed(201ms), random), slow, slow));
}

TEST(Slowness, IsNotThatAllMirrorsBecomeSlower) {
  SeededRandom random(1);
  auto all = answers(60, 50ms, fixed(100ms), random);
  for (int i = 0; i < 300; ++i) all.push_back({3s + i * 50ms, 2ms});
  EXPECT_FALSE(beside(all, all, all));
  const auto few = std::vector<RecentAnswer>{{0s, 90ms}, {2s, 90ms}, {4s, 90ms}};
  EXPECT_FALSE(beside(few, all, all));
}

TEST(Slowness, FindsTwoOfThree) {
  SeededRandom random(1);
  const auto quick = answers(400, 50ms, exponential(2ms), random);
  const auto one = answers(200, 50ms, exponential(60ms), random);
  const auto other = answers(200, 50ms, exponential(60ms), random);
  EXPECT_TRUE(beside(one, quick, other));
  EXPECT_TRUE(beside(other, one, quick));
  EXPECT_FALSE(beside(quick, one, other));
}

TEST(Slowness, LastsUntilTheLastAnswersAreQuickAndAMinuteWithoutAny) {
  SeededRandom random(1);
  const auto quick = answers(400, 50ms, fixed(2ms), random);
  auto own = answers(8, 3s, fixed(60ms), random);
  const auto with_newest = [&](std::size_t count, Micros took) {
    auto changed = own;
    for (std::size_t i = 0; i < count; ++i) changed[i].took = took;
    return changed;
  };
  EXPECT_TRUE(beside(with_newest(1, 2ms), quick, quick, true));
  EXPECT_FALSE(beside(with_newest(5, 2ms), quick, quick, true));
  EXPECT_TRUE(beside(with_newest(5, 14ms), quick, quick, true)) << "still seven times slower";
  for (auto& answer : own) answer.age += 58s;
  const auto past = beside(own, quick, quick, true);
  ASSERT_TRUE(past);
  EXPECT_EQ(past->age, 58s);
  for (auto& answer : own) answer.age += 3s;
  EXPECT_FALSE(beside(own, quick, quick, true));
}

TEST(Slowness, NeedsAPeer) {
  SeededRandom random(1);
  const auto own = answers(200, 50ms, fixed(60ms), random);
  EXPECT_FALSE(slowness(own, {}, false));
  EXPECT_FALSE(beside(own, {}, {}));
  EXPECT_FALSE(slowness({}, {}, true));
}

}  // namespace
}  // namespace karmad
