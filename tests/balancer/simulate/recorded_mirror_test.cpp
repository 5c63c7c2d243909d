#include "balancer/simulate/replay/recorded_mirror.hpp"

#include <gtest/gtest.h>

namespace karmad::simulate {
namespace {

using namespace std::chrono_literals;

constexpr Outcome kDone = Outcome::answered;
constexpr Outcome kDropped = Outcome::cancelled;

TEST(RecordedMirror, DrawsAmongTheAttemptsAroundTheTime) {
  const RecordedMirror mirror({{10s, 300, 0, kDone}, {0s, 100, 0, kDone}, {200ms, 200, 0, kDone}});
  EXPECT_EQ(mirror.at(100ms, 0).took, 100us);
  EXPECT_EQ(mirror.at(100ms, 0.49).took, 100us);
  EXPECT_EQ(mirror.at(100ms, 0.5).took, 200us);
  EXPECT_EQ(mirror.at(100ms, 0.999999).took, 200us);
  EXPECT_EQ(mirror.at(10s, 0.5).took, 300us);
}

TEST(RecordedMirror, IncludesTheEdgesOfTheWindow) {
  const RecordedMirror mirror({{0s, 100, 0, kDone}, {1s, 200, 0, kDone}});
  EXPECT_EQ(mirror.at(500ms, 0).took, 100us);
  EXPECT_EQ(mirror.at(500ms, 0.9).took, 200us);
  EXPECT_EQ(mirror.at(500ms + 1us, 0).took, 200us);
}

TEST(RecordedMirror, TakesTheNearestAttemptIfTheWindowIsEmpty) {
  const RecordedMirror mirror({{10s, 100, 0, kDone}, {20s, 200, 0, kDone}});
  EXPECT_EQ(mirror.at(-1h, 0.9).took, 100us);
  EXPECT_EQ(mirror.at(14s, 0.9).took, 100us);
  EXPECT_EQ(mirror.at(16s, 0.1).took, 200us);
  EXPECT_EQ(mirror.at(1h, 0.1).took, 200us);
}

TEST(RecordedMirror, FailsAsOftenAsRecorded) {
  std::vector<RecordedAttempt> attempts;
  for (unsigned i = 0; i < 100; ++i)
    attempts.push_back({i * 1ms, i, 503, i % 10 == 0 ? Outcome::agent_error : kDone});
  const RecordedMirror mirror(attempts);
  int failed = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto service = mirror.at(50ms, i / 1000.0);
    if (service.outcome == kDone) {
      EXPECT_EQ(service.status, 200U);
      continue;
    }
    EXPECT_EQ(service.status, 503U);
    ++failed;
  }
  EXPECT_EQ(failed, 100);
}

TEST(RecordedMirror, CountsAnAttemptAsOftenAsItsWeight) {
  const RecordedMirror mirror({{1ms, 100, 0, kDone}, {0ms, 200, 0, kDone}}, {1, 9});
  EXPECT_EQ(mirror.at(0s, 0.89).took, 200us);
  EXPECT_EQ(mirror.at(0s, 0.91).took, 100us);
}

TEST(RecordedMirror, CompletesACancelledAttempt) {
  const RecordedMirror mirror({{0s, 900, 0, kDone},
                               {2s, 500, 0, kDropped},
                               {3s, 499, 0, kDone},
                               {5s, 700, 0, kDropped},
                               {6s, 600, 500, Outcome::agent_error}});
  EXPECT_EQ(mirror.at(2s, 0.5), (ReplayedService{900us, kDone, 200})) << "499 us are too short";
  EXPECT_EQ(mirror.at(5s, 0.5), (ReplayedService{900us, kDone, 200}));
  EXPECT_EQ(mirror.at(6s, 0.5), (ReplayedService{600us, Outcome::agent_error, 500}));
}

TEST(RecordedMirror, AnswersACancelledAttemptAtItsEndIfNoneTookLonger) {
  const RecordedMirror mirror({{0s, 500, 0, kDropped}, {2s, 400, 0, kDone}});
  EXPECT_EQ(mirror.at(0s, 0.5), (ReplayedService{500us, kDone, 200}));
}

}  // namespace
}  // namespace karmad::simulate
