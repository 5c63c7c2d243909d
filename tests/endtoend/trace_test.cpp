// The trace of a request in its answer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

TEST(Trace, ComesInAFieldOfTheAnswerWhereItIsAskedFor) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const Master master(
      "ha_ping_interval = 0",
      fmt::format("table t {{\n type = distributed\n agent = {}:x\n}}\n", mirror.address()));
  const auto told = master.search(R"({"table":"t"})", "X-Karmad-Trace: 1\r\n");
  ASSERT_EQ(told.status, 200);
  ASSERT_EQ(told.fields.count("x-karmad-trace"), 1U);
  const auto& trace = told.fields.at("x-karmad-trace");
  EXPECT_NE(trace.find(R"("operation":"search","table":"t","client":"127.0.0.1")"), trace.npos)
      << trace;
  EXPECT_EQ(master.search(R"({"table":"t"})").fields.count("x-karmad-trace"), 0U);
}

}  // namespace
}  // namespace karmad::test
