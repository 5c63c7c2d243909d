#include <gtest/gtest.h>

#include "balancer/systemd.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using Passed = std::vector<PassedDescriptor>;

TEST(PassedDescriptors, AreNumberedFromThreeWithTheirNames) {
  EXPECT_EQ(passed_descriptors({"12", "3", "http:admin"}, 12),
            (Passed{{3, "http"}, {4, "admin"}, {5, ""}}));
  EXPECT_EQ(passed_descriptors({"12", "1", nullptr}, 12), (Passed{{3, ""}}));
  EXPECT_EQ(passed_descriptors({"12", "0", ""}, 12), Passed{});
}

TEST(PassedDescriptors, OfAnotherProcessOrNoneAreNotTaken) {
  EXPECT_EQ(passed_descriptors({"13", "1", "x"}, 12), Passed{});
  EXPECT_EQ(passed_descriptors({"", "1", "x"}, 12), Passed{});
  EXPECT_EQ(passed_descriptors({"12", nullptr, nullptr}, 12), Passed{});
  EXPECT_EQ(passed_descriptors({}, 12), Passed{});
}

TEST(PassedDescriptors, ReportAWrongNumber) {
  for (const auto* wrong : {"-1", "4097", "x", "1 ", "99999999999999999999"})
    EXPECT_EQ(passed_descriptors({"12", wrong, ""}, 12).error(),
              std::string("LISTEN_FDS is not a number up to 4096: ") + wrong);
}

TEST(ServiceMessages, AreThoseOfSdNotify) {
  EXPECT_EQ(text(ServiceReady{.status = "serving\n2", .main_pid = {}}),
            "READY=1\nSTATUS=serving 2\n");
  EXPECT_EQ(text(ServiceReady{.status = "x", .main_pid = 7}), "MAINPID=7\nREADY=1\nSTATUS=x\n");
  EXPECT_EQ(reloading_text(5ms),
            "RELOADING=1\nMONOTONIC_USEC=5000\nSTATUS=reading the configuration\n");
  EXPECT_EQ(stopping_text("ends"), "STOPPING=1\nSTATUS=ends\n");
  EXPECT_LT(stopping_text(std::string(5000, 'x')).size(), 600u);
}

TEST(ServiceMessages, WithoutASocketAreNotSent) {
  for (const auto* none : {"", "/", "@", "relative", "/nothing/listens/here"})
    EXPECT_FALSE(ServiceNotifier(none).send("READY=1\n")) << none;
  EXPECT_FALSE(ServiceNotifier("/" + std::string(200, 'x')).active());
}

TEST(WatchdogInterval, IsForThisProcessOrTheOneItTookOver) {
  EXPECT_EQ(watchdog_interval("3000000", nullptr, 12, 0), 3s);
  EXPECT_EQ(watchdog_interval("3000000", "12", 12, 0), 3s);
  EXPECT_EQ(watchdog_interval("3000000", "11", 12, 0), std::nullopt);
  EXPECT_EQ(watchdog_interval("3000000", "11", 12, 11), 3s);
  EXPECT_EQ(watchdog_interval("3000000", "0", 12, 0), std::nullopt);
  for (const auto* wrong : {"0", "-5", "x", ""})
    EXPECT_EQ(watchdog_interval(wrong, nullptr, 12, 0), std::nullopt) << wrong;
  EXPECT_EQ(watchdog_interval(nullptr, nullptr, 12, 0), std::nullopt);
}

/// A watchdog whose workers answer when the test says so.
struct WatchedWorkers {
  std::vector<Inbox::Job> asked;
  int signs = 0;
  Loop main{0, 64 << 10, 1};
  Watchdog watchdog{main, 2ms, 2,
                    [this](std::size_t, Inbox::Job job) { asked.push_back(std::move(job)); },
                    [this] { ++signs; }};

  void answer() {
    auto jobs = std::move(asked);
    asked.clear();
    for (auto& job : jobs) job();
    main.io.poll();
  }
};

TEST(Watchdog, GivesASignWhenEveryWorkerHasAnswered) {
  WatchedWorkers workers;
  workers.watchdog.start();
  ASSERT_EQ(workers.asked.size(), 2u);
  EXPECT_EQ(workers.signs, 0);
  workers.answer();
  EXPECT_GE(workers.signs, 1);
  for (int round = 0; workers.asked.empty() && round < 1000; ++round) workers.main.io.run_for(2ms);
  workers.answer();
  EXPECT_GE(workers.signs, 2);
}

TEST(Watchdog, GivesNoSignWhileAWorkerHangs) {
  WatchedWorkers workers;
  workers.watchdog.start();
  ASSERT_EQ(workers.asked.size(), 2u);
  workers.asked[0]();
  workers.main.io.run_for(50ms);
  EXPECT_EQ(workers.signs, 0);
  EXPECT_EQ(workers.asked.size(), 2u) << "a hung worker is not asked again";
  workers.asked[1]();
  workers.main.io.poll();
  EXPECT_EQ(workers.signs, 1);
}

TEST(Watchdog, CountsOnlyItsOwnThreadWhenTheWorkersEnd) {
  WatchedWorkers workers;
  workers.watchdog.start();
  workers.watchdog.workers_end();
  for (int round = 0; workers.signs < 3 && round < 1000; ++round) workers.main.io.run_for(2ms);
  EXPECT_GE(workers.signs, 3);
}

}  // namespace
}  // namespace karmad
