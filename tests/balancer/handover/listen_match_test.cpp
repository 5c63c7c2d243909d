#include "balancer/handover/inherited_sockets.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

using Positions = std::vector<std::size_t>;

Address tcp(std::string host, std::uint16_t port) {
  return {std::move(host), port, {}};
}
Address at_path(std::string path) {
  return {{}, 0, std::move(path)};
}
ListenLine line_of(std::uint16_t port, std::vector<std::string> hosts) {
  return {tcp("as written", port), std::move(hosts)};
}

TEST(MatchSockets, GivesALineAllSocketsAtItsAddress) {
  const std::vector<ListenLine> lines{line_of(9308, {"127.0.0.1"}),
                                      line_of(9308, {"127.0.0.1", "::1"}),
                                      line_of(9309, {"0.0.0.0", "::"}),
                                      {at_path("/run/k"), {}}};
  const std::vector<Address> sockets{
      tcp("127.0.0.1", 9308), tcp("::1", 9308),      tcp("127.0.0.1", 9308), tcp("::", 9309),
      at_path("/run/k"),      at_path("/run/other"), tcp("127.0.0.1", 9310)};
  const auto match = match_sockets(lines, sockets);
  EXPECT_EQ(match.of_line, (std::vector<Positions>{{0, 2}, {1}, {3}, {4}}));
  EXPECT_EQ(match.unused, (Positions{5, 6}));
}

TEST(MatchSockets, GivesALineWithAnyPortTheFirstPortThatNoOtherLineNames) {
  const std::vector<ListenLine> lines{line_of(0, {"127.0.0.1"}), line_of(9308, {"127.0.0.1"}),
                                      line_of(0, {"127.0.0.1"})};
  const std::vector<Address> sockets{tcp("127.0.0.1", 9308), tcp("127.0.0.1", 40001),
                                     tcp("127.0.0.1", 40002), tcp("127.0.0.1", 40001)};
  const auto match = match_sockets(lines, sockets);
  EXPECT_EQ(match.of_line, (std::vector<Positions>{{1, 3}, {0}, {2}}));
  EXPECT_TRUE(match.unused.empty());
}

TEST(MatchSockets, LeavesALineWithoutASocketToBeOpened) {
  const std::vector<ListenLine> lines{line_of(9308, {"10.0.0.1"}), line_of(1, {})};
  const auto match = match_sockets(lines, std::vector<Address>{tcp("10.0.0.2", 9308)});
  EXPECT_EQ(match.of_line, (std::vector<Positions>{{}, {}}));
  EXPECT_EQ(match.unused, Positions{0});
}

}  // namespace
}  // namespace karmad
