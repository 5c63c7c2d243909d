#include <gtest/gtest.h>

#include "strategies/kinds/registry.hpp"
#include "strategies/select.hpp"
#include "tests/conformance/selection_picture.hpp"

namespace karmad::conformance {
namespace {

using namespace std::chrono_literals;

constexpr auto kWindow = Micros(15ms);  // SS-010
constexpr int kPicks = 50;

/// A file of `server_selection` or `max-staleness`: what is suitable, and what of it is near.
struct Case {
  explicit Case(const DataFile& file)
      : data(read(file, {"description", "topology_description", "operation", "read_preference",
                         "heartbeatFrequencyMS", "deprioritized_servers", "suitable_servers",
                         "in_latency_window", "error"})),
        ping_interval(field(data, "heartbeatFrequencyMS") == nullptr
                          ? Micros(10s)
                          : micros(number(data["heartbeatFrequencyMS"]))),
        set(described(required(data, "topology_description"), ping_interval)),
        avoided(set.named(elements(data, "deprioritized_servers"))) {
    if (const auto* given = field(data, "read_preference")) need.preference = preference(*given);
    const auto* operation = field(data, "operation");
    if (operation != nullptr && text(*operation) == "write") need.operation = Operation::write;
  }

  bool expects_error() const {
    const auto* error = field(data, "error");
    return error != nullptr && error->GetBool();
  }

  rapidjson::Document data;
  Micros ping_interval;
  DescribedSet set;
  Candidates avoided;
  Need need;
};

void follow(const DataFile& file) {
  const Case given(file);
  const auto why = invalid_for(given.need.preference, given.set.picture.kind, given.ping_interval);
  ASSERT_EQ(why.has_value(), given.expects_error()) << (why ? why->why : "");
  if (why) return;

  const auto strategy = make_strategy("leastops", {});
  const std::vector<MirrorView> views(given.set.addresses.size());
  SelectionCriteria criteria{.need = &given.need, .avoided = given.avoided};
  const auto suitable = acceptable(criteria, given.set.picture, views, *strategy);
  EXPECT_EQ(suitable, given.set.named(elements(given.data, "suitable_servers")));

  criteria.window = kWindow;
  const auto near = given.set.named(elements(given.data, "in_latency_window"));
  EXPECT_EQ(acceptable(criteria, given.set.picture, views, *strategy), near);

  SeededRandom random(1);
  for (int i = 0; i < kPicks; ++i) {
    const auto picked = select(criteria, given.set.picture, views, *strategy, random);
    ASSERT_EQ(picked.has_value(), !near.empty());
    if (picked) {
      ASSERT_TRUE(near.contains(picked->mirror));
    }
  }
}

class ServerSelection : public ::testing::TestWithParam<DataFile> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ServerSelection);
INSTANTIATE_TEST_SUITE_P(
    , ServerSelection, ::testing::ValuesIn(files_below("server-selection/tests/server_selection")),
    by_name);

TEST_P(ServerSelection, TakesWhatTheFileSays) {
  follow(GetParam());
}

class MaxStaleness : public ::testing::TestWithParam<DataFile> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MaxStaleness);
INSTANTIATE_TEST_SUITE_P(, MaxStaleness, ::testing::ValuesIn(files_below("max-staleness/tests")),
                         by_name);

TEST_P(MaxStaleness, TakesWhatTheFileSays) {
  follow(GetParam());
}

}  // namespace
}  // namespace karmad::conformance
