#include <gtest/gtest.h>

#include "strategies/kinds/registry.hpp"
#include "strategies/select.hpp"
#include "tests/conformance/selection_picture.hpp"

namespace karmad::conformance {
namespace {

using namespace std::chrono_literals;

class InWindow : public ::testing::TestWithParam<DataFile> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(InWindow);
INSTANTIATE_TEST_SUITE_P(, InWindow,
                         ::testing::ValuesIn(files_below("server-selection/tests/in_window")),
                         by_name);

TEST_P(InWindow, PicksAsOftenAsTheFileSays) {  // SS-125, SS-126
  const auto file = read(GetParam(), {"description", "topology_description",
                                      "mocked_topology_state", "iterations", "outcome"});
  const auto set = described(required(file, "topology_description"), Micros(10s));
  std::vector<MirrorView> views(set.addresses.size());
  for (const auto* mocked : elements(file, "mocked_topology_state"))
    views.at(set.position(text(required(*mocked, "address")))).in_flight =
        static_cast<std::uint32_t>(whole(required(*mocked, "operation_count")));

  const Need nearest{.preference = {.mode = Mode::nearest}};
  const SelectionCriteria criteria{.need = &nearest, .window = Micros(15ms)};
  const auto strategy = make_strategy("leastops", {});
  SeededRandom random(1);
  std::vector<int> seen(views.size());
  const auto picks = static_cast<int>(whole(required(file, "iterations")));
  for (int i = 0; i < picks; ++i)
    ++seen[select(criteria, set.picture, views, *strategy, random).value().mirror];
  const auto shares = strategy->shares(views, acceptable(criteria, set.picture, views, *strategy));

  const auto& outcome = required(file, "outcome");
  const auto tolerance = number(required(outcome, "tolerance"));
  const auto& expected = required(outcome, "expected_frequencies");
  for (std::size_t mirror = 0; mirror < views.size(); ++mirror) {
    const auto* share = field(expected, set.addresses[mirror]);
    const auto wanted = share == nullptr ? 0 : number(*share);
    const bool exact = wanted <= 0 || wanted >= 1;
    EXPECT_NEAR(static_cast<double>(seen[mirror]) / picks, wanted, exact ? 0 : tolerance)
        << set.addresses[mirror];
    EXPECT_NEAR(shares[mirror], wanted, exact ? 1e-9 : tolerance) << set.addresses[mirror];
  }
}

}  // namespace
}  // namespace karmad::conformance
