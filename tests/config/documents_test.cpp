#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "config/agent_line.hpp"
#include "config/settings/keys.hpp"
#include "tests/config/page_text.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

void expect_loads_without_a_notice(const std::string& text, const std::string& what) {
  const auto loaded = load_text(text);
  EXPECT_EQ(lines(loaded.problems), Lines{}) << what;
  ASSERT_TRUE(loaded.settings) << what;
  EXPECT_EQ(lines(loaded.settings->notices), Lines{}) << what;
}

/// The text of one section, up to the next heading, with single spaces.
std::string section(const std::string& path, const std::string& heading) {
  const auto text = project_text(path);
  const auto begin = text.find("\n" + heading + "\n");
  EXPECT_NE(begin, std::string::npos) << path << ": " << heading;
  if (begin == std::string::npos) return {};
  const auto end = text.find("\n#", begin + 2);
  return std::regex_replace(text.substr(begin, end - begin), std::regex("\\s+"), " ");
}

TEST(Documents, TellClientsWhatRetriesOnOverloadChangeForThem) {  // BP-033
  const auto changes = section("docs/overload.md", "## What changes for clients");
  for (const auto* const told :
       {"**Every command is retried on overload**",
        "**Retry loops of clients may have to change.**",
        "**Clients that do not handle these errors may see more of them.**"})
    EXPECT_NE(changes.find(told), std::string::npos) << told;
  const auto readme = section("README.md", "## What it does");
  EXPECT_NE(readme.find("Clients that retry themselves may need changes: "
                        "[docs/overload.md](docs/overload.md)"),
            std::string::npos);
}

TEST(PackagedConfigurations, LoadWithoutANotice) {
  for (const std::string path : {"packaging/karmad.conf", "packaging/docker/karmad.conf"})
    expect_loads_without_a_notice(project_text(path), path);
  // In a ConfigMap the file is the indented text after its name.
  const auto manifest = project_text("packaging/kubernetes/configmap.yaml");
  const std::string name = "karmad.conf: |\n";
  const auto begin = manifest.find(name);
  ASSERT_NE(begin, std::string::npos);
  expect_loads_without_a_notice(manifest.substr(begin + name.size()), "configmap.yaml");
}

/// All names that a configuration may contain.
std::set<std::string, std::less<>> known_names() {
  std::set<std::string, std::less<>> names{"include", "table", "searchd", "index"};
  for (const auto& key : searchd_keys()) names.emplace(key.name);
  for (const auto& key : table_keys()) names.emplace(key.name);
  for (const auto options : {mirror_option_names(), line_option_names()})
    names.insert(options.begin(), options.end());
  return names;
}

/// In the tables of directives the second cell names settings of ours: every word in code that is
/// followed by `=`, or is a whole span with an underscore, must exist.
TEST(MigrationGuides, NameOnlySettingsThatExist) {
  const auto known = known_names();
  const std::regex code("`([a-z_]+)( ?= ?[^`]*)?`");
  for (const std::string path : {"docs/migration-manticore.md", "docs/migration-proxy.md"}) {
    std::istringstream text(project_text(path));
    std::size_t settings = 0;
    bool of_settings = false;
    for (std::string line; std::getline(text, line);) {
      of_settings = line.starts_with("| There | Here |") || (of_settings && line.starts_with('|'));
      if (!of_settings) continue;
      const auto first = line.find(" | ");
      const auto second = first == std::string::npos ? first : line.find(" | ", first + 3);
      if (first == std::string::npos) continue;
      const auto cell = line.substr(first, second == std::string::npos ? second : second - first);
      for (std::sregex_iterator at(cell.begin(), cell.end(), code), end; at != end; ++at) {
        const auto name = at->str(1);
        if (!(*at)[2].matched && !name.contains('_')) continue;
        ++settings;
        EXPECT_TRUE(known.contains(name)) << path << ": " << name << " in " << line;
      }
    }
    EXPECT_GT(settings, 20U) << path;
  }
}

TEST(MigrationGuides, HaveExamplesThatLoadWithoutANotice) {
  std::size_t examples = 0;
  for (const std::string path :
       {"README.md", "docs/migration-manticore.md", "docs/migration-proxy.md"})
    for (const auto& block : plain_blocks(project_text(path))) {
      if (!block.contains("type = distributed")) continue;
      ++examples;
      expect_loads_without_a_notice(block, path + ":\n" + block);
    }
  EXPECT_EQ(examples, 3U);
}

}  // namespace
}  // namespace karmad
