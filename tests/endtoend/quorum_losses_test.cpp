// Quorum reads beside failing mirrors: a read that replaces a failed one is lost only if the mirror
// that would meet the quorum is (CO-070 … CO-075; docs/decisions/048).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kQuorum = "X-Consistency: quorum\r\n";

Reaction at_generation(std::int64_t generation) {
  return refused(200, fmt::format("X-Generation: {}\r\n", generation),
                 R"({"took":0,"timed_out":false,"hits":{"total":0,"hits":[]}})");
}

/// The number of answers other than 200 to this many quorum reads, by this many clients at a time.
std::size_t lost(const Master& master, std::size_t reads, std::size_t clients) {
  std::atomic<std::size_t> begun{0};
  std::atomic<std::size_t> lost{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < clients; ++i)
    threads.emplace_back([&] {
      HttpClient client(master.port());
      const auto request =
          fmt::format("POST /search HTTP/1.1\r\nHost: a\r\n{}Content-Length: {}\r\n\r\n{}", kQuorum,
                      kFindAll.size(), kFindAll);
      while (begun++ < reads) {
        EXPECT_TRUE(client.send(request));
        const auto answer = client.receive();
        if (answer && answer->status == 200) continue;
        if (++lost < 4) ADD_FAILURE() << (answer ? answer->body : "no answer");
      }
    });
  for (auto& thread : threads) thread.join();
  return lost;
}

/// A set of which the first mirrors do this with a search.
void expect_no_loss(std::size_t mirrors, std::size_t bad, const Reaction& trouble,
                    std::size_t reads, std::size_t clients, const std::string& settings = {},
                    const std::vector<std::string>& roles = {}) {
  SCOPED_TRACE(fmt::format("{} of {}, {} reads, {}", bad, mirrors, reads, trouble.bytes));
  FakeSet set(mirrors, at_generation(7));
  for (std::size_t i = 0; i < bad; ++i) set[i].react(always(trouble));
  const RestingMaster master("workers = 2\n " + settings, set.table({}, roles));
  EXPECT_EQ(lost(master, reads, clients), 0U);
}

TEST(QuorumLosses, AreNoneWhileEnoughMirrorsWork) {
  for (const auto& trouble : {json(R"({"error":"disk full"})", 500), refused(429, ""),
                              Reaction{"", Reaction::Then::reset}}) {
    expect_no_loss(3, 1, trouble, 300, 8);
    expect_no_loss(5, 2, trouble, 300, 8);
    expect_no_loss(5, 2, trouble, 60, 1);
  }
}

TEST(QuorumLosses, AreNoneInASetWithRoles) {
  const auto trouble = json(R"({"error":"internal error"})", 500);
  expect_no_loss(3, 1, trouble, 300, 8, "read_preference = nearest\n ha_strategy = random",
                 {"primary", "replica", "replica"});
  expect_no_loss(5, 2, trouble, 300, 8, "read_preference = nearest\n ha_strategy = random",
                 {"replica", "replica", "primary", "replica", "replica"});
}

// One that does not answer in time is replaced, too (the others have answered by then).
TEST(QuorumLosses, AreNoneWhereMirrorsDoNotAnswerInTime) {
  expect_no_loss(5, 2, silence(), 60, 8, "agent_query_timeout = 300ms");
}

TEST(QuorumLosses, AreNoneWhereMirrorsRefuseConnections) {
  FakeSet set(3, at_generation(7));
  const ClosedPort dead;
  const ClosedPort dead_too;
  const RestingMaster master(
      "", table_of({line_of({dead.address(), set[0].address(), dead_too.address(), set[1].address(),
                             set[2].address()})}));
  EXPECT_EQ(lost(master, 300, 8), 0U);
}

TEST(QuorumLosses, AreNoneWhereMirrorsOfEachShardFail) {
  const auto trouble = json(R"({"error":"disk full"})", 500);
  FakeSet first(5, at_generation(7));
  FakeSet second(3, at_generation(9));
  for (const auto i : {0U, 1U}) first[i].react(always(trouble));
  second[2].react(always(trouble));
  const auto line = [](FakeSet& set, std::size_t mirrors) {
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i < mirrors; ++i) addresses.push_back(set[i].address());
    return line_of(addresses);
  };
  const RestingMaster master("", table_of({line(first, 5), line(second, 3)}));
  EXPECT_EQ(lost(master, 300, 8), 0U);
  EXPECT_EQ(master.count("answers_partial"), 0);
}

/// A set that gets 50 updates a second, which its replicas have 4 to 10 ms later.
class WrittenSet {
 public:
  WrittenSet(std::size_t mirrors, bool in_pings) {
    for (std::size_t i = 0; i < mirrors; ++i)
      mirrors_.push_back(std::make_unique<FakeMirror>(
          [this, i, in_pings](const std::string& request) {
            const auto generation = this->generation(i);
            if (!request.starts_with("GET ")) return at_generation(generation);
            return json(
                fmt::format(R"({{"role":"{}","set":"s"{}}})", i == 0 ? "primary" : "replica",
                            in_pings ? fmt::format(R"(,"generation":{})", generation) : ""));
          },
          true));
  }
  std::string table(const std::string& settings) const {
    std::vector<std::string> addresses;
    for (const auto& mirror : mirrors_) addresses.push_back(mirror->address());
    return table_of({line_of(addresses)}, settings);
  }

 private:
  std::int64_t generation(std::size_t mirror) const {
    const auto age = Clock::now() - began_;
    const auto update = age / 20ms;
    const auto late =
        mirror == 0 ? 0ms : 4ms + 1ms * ((update * 5 + static_cast<int>(mirror) * 3) % 7);
    return 100 + update - (age - update * 20ms < late ? 1 : 0);
  }

  Clock::time_point began_ = Clock::now();
  std::vector<std::unique_ptr<FakeMirror>> mirrors_;
};

// The first answers disagree, and none of the later ones is as new as the newest.
TEST(QuorumLosses, AreNoneWhereReplicasAreLate) {
  const struct {
    std::size_t mirrors;
    std::string settings;
    bool in_pings;
  } sets[] = {{3, "", false},
              {5, "", false},
              {3, "ping_type = native", false},
              {5, "ping_type = native", true}};
  for (const auto& c : sets) {
    SCOPED_TRACE(fmt::format("{} mirrors, {}, {}", c.mirrors, c.settings, c.in_pings));
    const WrittenSet set(c.mirrors, c.in_pings);
    const RestingMaster master("", set.table(c.settings));
    EXPECT_EQ(lost(master, 600, 8), 0U);
  }
}

}  // namespace
}  // namespace karmad::test
