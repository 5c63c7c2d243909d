// Agents that get a copy of every query and whose answers are dropped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kBlackholeQuery = R"({"table":"t","query":{"match_all":{}}})";

FakeMirror::React blackhole_with(const Reaction& reaction) {
  return [reaction](const std::string&) { return reaction; };
}

std::string table(const std::string& agent, const std::string& blackholes) {
  return fmt::format("table t {{\n type = distributed\n agent = {}:products\n{}\n}}\n", agent,
                     blackholes);
}

TEST(Blackhole, GetsACopyOfEveryQueryForItsOwnTable) {
  const FakeMirror mirror(blackhole_with(nothing_found()));
  const FakeMirror copy(blackhole_with(nothing_found()));
  const FakeMirror other(blackhole_with(nothing_found()));
  const Master master(
      "ha_ping_interval = 0",
      table(mirror.address(),
            fmt::format(" agent_blackhole = {}:copied\n agent = {}:too [blackhole=1]",
                        copy.address(), other.address())));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(master.search(kBlackholeQuery).status, 200);
  EXPECT_TRUE(eventually([&] { return copy.requests() == 5 && other.requests() == 5; }));
  EXPECT_EQ(mirror.requests(), 5u);
  EXPECT_NE(copy.seen()[0].find(R"({"table":"copied","query":{"match_all":{}}})"),
            std::string::npos);
  EXPECT_NE(other.seen()[0].find(R"("table":"too")"), std::string::npos);
  EXPECT_EQ(master.count("blackhole_sent"), 10);
}

// The answers of these would cost minutes each, were they waited for.
TEST(Blackhole, DoesNotMatterWhenItIsDeadSlowOrMad) {
  const FakeMirror mirror(blackhole_with(nothing_found()));
  const FakeMirror silent(blackhole_with(silence()));
  const FakeMirror mad(blackhole_with({.bytes = "garbage\r\n\r\n"}));
  const ClosedPort gone;
  Master master(
      "agent_query_timeout = 5m\n agent_connect_timeout = 5m\n request_timeout = 5m",
      table(mirror.address(),
            fmt::format(" agent_blackhole = {}\n agent_blackhole = {}\n agent_blackhole = {}",
                        silent.address(), mad.address(), gone.address())));
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    const auto answer = master.search(kBlackholeQuery);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body.find("warning"), std::string::npos) << answer.body;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, kSoon);
  EXPECT_EQ(master.count("queries_failed"), 0);
  EXPECT_EQ(master.count("ag_t_1_1_succeeded_queries"), 20);
  EXPECT_TRUE(eventually([&] { return silent.requests() > 0 && mad.requests() > 0; }));
  EXPECT_TRUE(master.ready()) << "a dead blackhole makes no table unready";
}

}  // namespace
}  // namespace karmad::test
