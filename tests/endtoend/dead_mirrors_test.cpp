// No query is lost while an untried mirror works, for any number of dead mirrors; if all mirrors
// are dead, retries add little to the load.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

/// The mirrors of one shard: first the dead ones, with different failures, then those that work.
class Shard {
 public:
  enum class Dead { refuse, reset, say_500 };

  Shard(std::size_t mirrors, std::size_t dead, Dead how) {
    for (std::size_t i = 0; i < mirrors; ++i) {
      if (i < dead && how == Dead::refuse) {
        closed_.push_back(std::make_unique<ClosedPort>());
        add(closed_.back()->address());
        continue;
      }
      const auto trouble = how == Dead::reset ? Reaction{"", Reaction::Then::reset}
                                              : json(R"({"error":"internal error"})", 500);
      open_.push_back(std::make_unique<FakeMirror>(always(i < dead ? trouble : nothing_found())));
      add(open_.back()->address());
    }
  }
  const std::string& line() const { return line_; }
  void react(const Reaction& reaction) {
    for (const auto& mirror : open_) mirror->react(always(reaction));
  }

 private:
  void add(const std::string& address) {
    line_ += (line_.empty() ? "" : "|") + address + ":products";
  }
  std::string line_;
  std::vector<std::unique_ptr<ClosedPort>> closed_;
  std::vector<std::unique_ptr<FakeMirror>> open_;
};
using Dead = Shard::Dead;
constexpr Dead kAll[] = {Dead::refuse, Dead::reset, Dead::say_500};

std::string named(Dead how) {
  return how == Dead::refuse ? "refuse" : how == Dead::reset ? "reset" : "say 500";
}

/// Sends requests from this number of clients at the same moment, this often; returns the number of
/// answers other than 200.
std::size_t lost_in_bursts(const Master& master, std::size_t clients, std::size_t bursts) {
  std::vector<std::unique_ptr<HttpClient>> all;
  for (std::size_t i = 0; i < clients; ++i)
    all.push_back(std::make_unique<HttpClient>(master.port()));
  const std::string request =
      fmt::format("POST /search HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}",
                  kFindAll.size(), kFindAll);
  std::size_t lost = 0;
  for (std::size_t burst = 0; burst < bursts; ++burst) {
    for (const auto& client : all) EXPECT_TRUE(client->send(request));
    for (const auto& client : all) {
      const auto answer = client->receive();
      if (!answer || answer->status != 200) ++lost;
    }
  }
  return lost;
}

TEST(DeadMirrors, LoseNoQueryThatComesAloneWhileOneWorks) {
  for (const auto how : kAll)
    for (const auto* strategy : {"random", "roundrobin"})
      for (const auto* count : {"", "agent_retry_count = 1"})
        for (const auto& [mirrors, dead] : {std::pair{3u, 2u}, {4u, 3u}, {8u, 7u}}) {
          Shard shard(mirrors, dead, how);
          const RestingMaster master(
              fmt::format("workers = 2\n ha_strategy = {}\n {}", strategy, count),
              table_of({shard.line()}));
          std::size_t lost = 0;
          for (int i = 0; i < 40; ++i) lost += master.find().status == 200 ? 0 : 1;
          EXPECT_EQ(lost, 0u) << dead << " of " << mirrors << " " << named(how) << ", " << strategy
                              << " " << count;
          EXPECT_EQ(master.count("retries_refused"), 0);
        }
}

// Nothing is known of any mirror when the first burst comes.
TEST(DeadMirrors, LoseNoQueryOfABurstWhileOneWorks) {
  for (const auto how : kAll)
    for (const auto& [mirrors, dead] : {std::pair{3u, 1u}, {3u, 2u}, {8u, 7u}}) {
      Shard shard(mirrors, dead, how);
      const RestingMaster master("workers = 2", table_of({shard.line()}));
      EXPECT_EQ(lost_in_bursts(master, 60, 4), 0u)
          << dead << " of " << mirrors << " " << named(how);
      EXPECT_EQ(master.count("queries_failed"), 0);
    }
}

TEST(DeadMirrors, MakeNoAnswerPartialWhileOneOfEachShardWorks) {
  for (const auto how : kAll) {
    Shard first(3, 2, how);
    Shard second(3, 2, how);
    const RestingMaster master("workers = 2\n agent_retry_count = 1",
                               table_of({first.line(), second.line()}));
    EXPECT_EQ(lost_in_bursts(master, 20, 3), 0u) << named(how);
    EXPECT_EQ(master.count("answers_partial"), 0) << named(how);
  }
}

// Nothing of an update was sent if the connection was refused.
TEST(DeadMirrors, LoseNoUpdateThatMayBeRepeated) {
  Shard shard(3, 2, Dead::refuse);
  shard.react(inserted());
  const RestingMaster master("", table_of({shard.line()}, "updates = any"));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(insert(master).status, 200);
  Shard failing(3, 2, Dead::refuse);
  failing.react(inserted());
  const RestingMaster other("", table_of({failing.line()}, "updates = any"));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(insert(other, "Idempotency-Key: k\r\n").status, 200);
}

TEST(DeadMirrors, GetAtMostAFifthMoreThanTheLoadPlusTenWhenAllAreDead) {
  for (const auto how : kAll)
    for (const auto* count : {"", "agent_retry_count = 1"}) {
      Shard shard(3, 3, how);
      const RestingMaster master(fmt::format("workers = 2\n agent_retry_delay = 1ms\n {}", count),
                                 table_of({shard.line()}));
      EXPECT_EQ(lost_in_bursts(master, 50, 6), 300u);
      EXPECT_LE(master.count("agent_attempts"), 300 * 12 / 10 + 10) << named(how) << " " << count;
    }
}

// Only a single query at a time, and not every one, tests whether an unreachable mirror is back.
TEST(DeadMirrors, AreLeftAloneByOtherQueriesOnceTheyRefusedAConnection) {
  for (const auto* pings : {"", "ping_type = none"}) {
    Shard shard(3, 1, Dead::refuse);
    const RestingMaster master(fmt::format("ha_strategy = roundrobin\n workers = 1\n {}", pings),
                               table_of({shard.line()}));
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < 300; ++i) EXPECT_EQ(master.find().status, 200);
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
    EXPECT_LE(master.number_of(0, "since_start/attempts"),
              3.0 + static_cast<double>(seconds.count()))
        << pings;
  }
}

// Many queries wait for a connection to a mirror that refuses: all are told at once, without a
// timer.
TEST(DeadMirrors, TellAllWhoWaitForAConnectionAtOnce) {
  Shard shard(1, 1, Dead::refuse);
  const RestingMaster master("workers = 1\n agent_connect_timeout = 1h\n request_timeout = 2h",
                             table_of({shard.line()}));
  EXPECT_EQ(lost_in_bursts(master, 800, 2), 1600u);
  EXPECT_EQ(master.count("connect_timeouts"), 0);
}

}  // namespace
}  // namespace karmad::test
