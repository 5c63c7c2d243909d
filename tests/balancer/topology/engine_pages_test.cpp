// Loads every configuration of docs/engines.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "balancer/topology/topology.hpp"
#include "tests/config/page_text.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

void expect_builds(const std::string& text) {
  const auto loaded = load_text(text);
  EXPECT_EQ(lines(loaded.problems), Lines{});
  ASSERT_TRUE(loaded.settings);
  EXPECT_EQ(lines(loaded.settings->notices), Lines{});
  AgentRegistry registry(1, std::chrono::seconds(60));
  const Loops loops;
  Problems problems;
  const auto topology =
      Topology::build(*loaded.settings, {.registry = registry, .loops = loops}, nullptr, problems);
  EXPECT_EQ(lines(problems), Lines{});
  ASSERT_TRUE(topology);
  EXPECT_FALSE(topology->tables.empty());
  for (const auto& table : topology->tables) EXPECT_FALSE(table->shards.empty()) << table->name;
}

TEST(EnginePages, HaveConfigurationsThatLoadWithoutANotice) {
  std::size_t pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(KARMAD_SOURCE_DIR "/docs/engines")) {
    if (entry.path().filename() == "README.md") continue;
    ++pages;
    const auto found =
        plain_blocks(project_text("docs/engines/" + entry.path().filename().string()));
    EXPECT_FALSE(found.empty()) << entry.path();
    for (const auto& text : found) {
      SCOPED_TRACE(entry.path().string() + ":\n" + text);
      expect_builds(text);
    }
  }
  EXPECT_EQ(pages, 5U);
}

}  // namespace
}  // namespace karmad
