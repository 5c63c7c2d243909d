#include <gtest/gtest.h>

#include "balancer/operate/admin_call.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

const char* const kShared =
    "searchd {\n listen = 9308\n}\n"
    "table t {\n type = distributed\n agent = a:1|b:2\n agent = a:1|c:3|d:4[state=drain]\n}\n"
    "table u {\n type = distributed\n agent = a:1[weight=0]|e:5[state=maint]\n}\n";

/// The shards that draining this mirror (of one table) takes out, while `dead` do not work.
std::vector<std::string> taken_out(const std::string& mirror, const std::vector<std::string>& dead,
                                   std::optional<std::string> table = {},
                                   AdminVerb verb = AdminVerb::drain) {
  const auto configured = settings_of(kShared);
  const AdminCall call{.verb = verb, .mirror = mirror, .table = std::move(table)};
  const auto changed = apply(call, configured, {});
  if (!changed) ADD_FAILURE() << changed.error().reason;
  return shards_without_mirrors(
      configured, with_overrides(configured, *changed),
      [&](const std::string& address) { return std::ranges::find(dead, address) == dead.end(); });
}

using Shards = std::vector<std::string>;

TEST(LastMirrors, AreThoseThatNoOtherReadyMirrorStandsBeside) {
  EXPECT_EQ(taken_out("b:2", {}), Shards{});
  EXPECT_EQ(taken_out("a:1", {}), Shards{"table u, shard 1"}) << "also with a weight of 0";
  EXPECT_EQ(taken_out("a:1", {}, "t"), Shards{});
  EXPECT_EQ(taken_out("a:1", {}, {}, AdminVerb::maint), Shards{"table u, shard 1"});
  EXPECT_EQ(taken_out("d:4", {"c:3", "a:1"}, {}, AdminVerb::maint), Shards{})
      << "it serves no searches as it is";
}

TEST(LastMirrors, CountOnlyThoseThatWork) {
  EXPECT_EQ(taken_out("a:1", {"c:3"}), (Shards{"table t, shard 2", "table u, shard 1"}));
  EXPECT_EQ(taken_out("a:1", {"b:2", "c:3"}, "t"),
            (Shards{"table t, shard 1", "table t, shard 2"}));
  EXPECT_EQ(taken_out("a:1", {"a:1"}, "t"), Shards{}) << "it is dead, the others serve";
  EXPECT_EQ(taken_out("b:2", {"a:1", "b:2"}), Shards{}) << "no mirror works in any case";
  EXPECT_EQ(taken_out("a:1", {"a:1"}, "u"), Shards{"table u, shard 1"})
      << "it would not come back by itself";
}

TEST(LastMirrors, AreNamedUpToANumber) {
  EXPECT_TRUE(last_mirror_text({"table t, shard 1"}).contains("left: table t, shard 1; nothing"));
  EXPECT_TRUE(last_mirror_text(Shards(10, "x")).contains("; x and 2 more; nothing"));
}

}  // namespace
}  // namespace karmad
