#include "config/effective.hpp"

#include <gtest/gtest.h>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

Lines differences(const std::string& before, const std::string& after) {
  Lines out;
  for (const auto& change :
       difference(effective_settings(settings_of(before)), effective_settings(settings_of(after))))
    out.push_back(text(change));
  return out;
}

TEST(DifferenceOfConfigurations, NamesSettingsTablesAndMirrorsWithTheirSources) {
  const auto before =
      "searchd {\n listen = 9308\n dead_after = 4\n}\n" + table(" agent = a:1|b:2\n hedge = p95");
  const auto after = "searchd {\n listen = 9308\n dead_after = 4\n workers = 3\n}\n" +
                     table(" agent = a:1|b:2[weight=0]|c:3");
  const Lines expected{
      "searchd: workers: auto (default) -> 3 (c:4:12)",
      "table t: hedge: p95 (c:8:10) -> none",
      "table t: shard 1: mirror b:2: b:2:t (c:7:14) -> b:2:t[weight=0] (c:8:14)",
      "table t: shard 1: mirror c:3: none -> c:3:t (c:8:28)",
  };
  const auto found = differences(before, after);
  ASSERT_EQ(found.size(), expected.size()) << ::testing::PrintToString(found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto name = expected[i].substr(0, expected[i].find(" ("));
    EXPECT_TRUE(found[i].starts_with(name)) << found[i];
  }
}

TEST(DifferenceOfConfigurations, IsEmptyForTheSameValuesAtOtherPlaces) {
  EXPECT_EQ(differences("searchd {\n dead_after = 4\n}\n" + table(" agent = a:1"),
                        "\n\nsearchd {\n dead_after = 4\n}\n" + table(" agent = a:1")),
            Lines{});
}

}  // namespace
}  // namespace karmad
