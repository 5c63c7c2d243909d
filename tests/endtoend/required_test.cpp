// Readiness of tables that the process can do without, and of single tables.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

std::string ready_table(std::string_view name, const std::string& agent,
                        std::string_view more = {}) {
  return fmt::format("table {} {{\n type = distributed\n agent = {}:t\n {}\n}}\n", name, agent,
                     more);
}

class Required : public testing::Test {
 protected:
  FakeMirror mirror{always(nothing_found())};
  ClosedPort gone;
};

TEST_F(Required, ATableThatIsNotRequiredLeavesTheProcessReadyAndIsNamed) {
  Master master("ha_ping_interval = 20ms",
                ready_table("good", mirror.address()) +
                    ready_table("spare", gone.address(), "required = no"));
  ASSERT_TRUE(master.ready());
  EXPECT_TRUE(eventually([&] {
    const auto answer = get(master.port(), "/readyz");
    return answer.status == 200 &&
           answer.body.contains(R"("table":"spare","shard":1,"required":false)");
  })) << get(master.port(), "/readyz").body;
  ASSERT_TRUE(master.reload("ha_ping_interval = 20ms",
                            ready_table("good", mirror.address()) +
                                ready_table("spare", gone.address(), "required = yes")));
  EXPECT_EQ(get(master.port(), "/readyz").status, 503);
}

TEST_F(Required, ReadyzAnswersForOneTable) {
  Master master("ha_ping_interval = 20ms",
                ready_table("Good", mirror.address()) +
                    ready_table("spare", gone.address(), "required = no") +
                    ready_table("bad", gone.address()));
  EXPECT_TRUE(eventually([&] { return get(master.port(), "/readyz?table=good").status == 200; }));
  EXPECT_EQ(get(master.port(), "/readyz?x=1&table=GOOD&y").status, 200);
  EXPECT_EQ(get(master.port(), "/readyz?table=%67ood").status, 200);
  const auto spare = get(master.port(), "/readyz?table=spare");
  EXPECT_EQ(spare.status, 503) << "asked for, it counts";
  EXPECT_TRUE(spare.body.contains(R"("table":"spare")")) << spare.body;
  EXPECT_FALSE(spare.body.contains("bad")) << spare.body;
  EXPECT_EQ(get(master.port(), "/readyz").status, 503);
  EXPECT_EQ(get(master.port(), "/readyz?check=1").status, 503);
  const auto unknown = get(master.port(), "/readyz?table=nosuch");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_TRUE(unknown.body.contains("Good, spare, bad")) << unknown.body;
  EXPECT_EQ(get(master.port(), "/readyz?table=").status, 404);
}

}  // namespace
}  // namespace karmad::test
