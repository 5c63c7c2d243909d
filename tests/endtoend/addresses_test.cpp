// Agents that are not at an IPv4 address.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kQuery = R"({"table":"t","query":{"match_all":{}}})";

Reaction answer(const std::string&) {
  return nothing_found();
}

/// One table with only this mirror: it gets searches and pings, and the status shows it.
void expect_to_work(const FakeMirror& mirror) {
  Master master(
      "ha_ping_interval = 50ms",
      fmt::format("table t {{\n type = distributed\n agent = {}:far\n}}\n", mirror.address()));
  EXPECT_TRUE(master.ready());
  EXPECT_EQ(master.search(kQuery).status, 200);
  ASSERT_EQ(mirror.requests(), 1u);
  EXPECT_NE(mirror.seen()[0].find(R"("table":"far")"), std::string::npos);
  EXPECT_EQ(master.status("ag_0_hostname", "SHOW AGENT STATUS"), mirror.address());
  EXPECT_EQ(master.word("/tables/0/shards/0/mirrors/0/address"), mirror.address());
  EXPECT_NE(post(master.port(), "/sql?mode=raw", "DESC t").body.find(mirror.address() + ":far"),
            std::string::npos);
}

TEST(Addresses, AnAgentMayBeAtAUnixSocket) {
  expect_to_work(FakeMirror(answer, false, Home::unix_socket));
}

TEST(Addresses, AnAgentMayHaveAnIpv6Literal) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no [::1]";
  expect_to_work(FakeMirror(answer, false, Home::ipv6));
}

// Manticore's case 241
TEST(Addresses, OfAllKindsMixInOneLine) {
  const FakeMirror tcp(answer);
  const FakeMirror local(answer, false, Home::unix_socket);
  const ClosedPort gone;
  const Master master("ha_strategy = roundrobin\n ha_ping_interval = 0",
                      fmt::format("table t {{\n type = distributed\n agent = {}|{}|{}:far\n}}\n",
                                  tcp.address(), local.address(), gone.address()));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(master.search(kQuery).status, 200);
  EXPECT_GE(tcp.requests(), 2u);
  EXPECT_GE(local.requests(), 2u);
  EXPECT_EQ(tcp.requests() + local.requests(), 6u);
}

TEST(Addresses, AnAgentMayHaveANameAndOneThatDoesNotExistIsAFailedMirror) {
  const FakeMirror mirror(answer);
  const Master master(
      "ha_ping_interval = 0",
      fmt::format("table t {{\n type = distributed\n agent = localhost:{0}:far\n}}\n"
                  "table u {{\n type = distributed\n"
                  " agent = no-such-host.invalid:{0}:far|localhost:{0}:far\n}}\n",
                  mirror.port()));
  EXPECT_EQ(master.search(kQuery).status, 200);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(master.search(R"({"table":"u"})").status, 200);
}

}  // namespace
}  // namespace karmad::test
