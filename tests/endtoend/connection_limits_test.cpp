// Limits of connections to an agent hold for the whole process, whatever the number of workers
// (SD-025, X-17).
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

const std::string kQuery = R"({"table":"t","query":{"match_all":{}}})";

std::string settings(const std::string& more) {
  return "workers = 8\n ha_ping_interval = 0\n " + more;
}

std::string one_mirror_table(const FakeMirror& mirror) {
  return "table t {\n type = distributed\n agent = " + mirror.address() + "\n}\n";
}

/// Answers after a moment, so that all workers have something to do at a time.
Reaction soon(const std::string&) {
  return slowly(std::chrono::milliseconds(2));
}

TEST(ConnectionLimits, AgentMaxConnectionsHoldForAllWorkersTogetherAndNoneStarves) {
  const FakeMirror mirror(soon);
  const Master master(settings("agent_max_connections = 2\n agent_connect_timeout = 10s"),
                      one_mirror_table(mirror));
  {
    Load load(master.port(), 32, expecting_200(kQuery));
    EXPECT_TRUE(load.more(600));
    load.stop();
    EXPECT_EQ(load.wrong(), "");
  }
  EXPECT_LE(mirror.most_busy(), 2);
  EXPECT_TRUE(eventually([&] { return mirror.open_connections() <= 2; }));
}

TEST(ConnectionLimits, PersistentConnectionsLimitIsOfAllWorkersTogether) {
  const FakeMirror mirror(soon);
  const Master master(settings("persistent_connections_limit = 1"), one_mirror_table(mirror));
  {
    Load load(master.port(), 32, expecting_200(kQuery));
    EXPECT_TRUE(load.more(300));
    load.stop();
    EXPECT_EQ(load.wrong(), "");
  }
  EXPECT_TRUE(eventually([&] { return mirror.open_connections() == 1; }));
}

}  // namespace
}  // namespace karmad::test
