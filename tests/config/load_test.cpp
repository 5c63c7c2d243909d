#include "config/load.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

namespace fs = std::filesystem;

/// A directory of its own that goes with the test.
class Directory {
 public:
  Directory() {
    std::string name = (fs::temp_directory_path() / "karmad-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Directory() { fs::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(Load, ReadsRealFilesPatternsAndVariables) {
  const Directory directory;
  const auto main = directory.write("karmad.conf", "include = tables.d/*.conf\nsearchd {\n}\n");
  directory.write("tables.d/b.conf", "table b : a {\n}\n");
  directory.write("tables.d/a.conf",
                  "table a {\n type = distributed\n agent = ${KARMAD_TEST_NOT_SET:-h:1}\n}\n");
  const auto loaded = load(main);
  EXPECT_EQ(lines(loaded.problems), Lines{});
  ASSERT_TRUE(loaded.settings);
  ASSERT_EQ(loaded.settings->tables.size(), 2U);
  EXPECT_EQ(text(loaded.settings->tables[1].at),
            (directory.path() / "tables.d/b.conf:1:1").string());
}

TEST(Load, SaysWhyAFileCannotBeRead) {
  const Directory directory;
  EXPECT_EQ(lines(load("/no/such/file").problems),
            Lines{"/no/such/file cannot be read: No such file or directory"});
  EXPECT_EQ(lines(load("").problems), Lines{"the name of the configuration file is empty"});
  EXPECT_EQ(lines(load(directory.path().string()).problems),
            Lines{directory.path().string() + " cannot be read: Is a directory"});
}

// Reading one might wait for ever.
TEST(Load, RefusesToIncludeWhatIsNoRegularFile) {
  const Directory directory;
  const auto at = [&](const char* name) { return (directory.path() / name).string(); };
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  fs::create_directory(at("folder"));
  const auto where =
      directory.write("c", "include = pipe\n include = folder\ninclude = /dev/zero\n");
  EXPECT_EQ(lines(load(where).problems),
            (Lines{where + ":1:1: " + at("pipe") + " cannot be read: it is not a regular file",
                   where + ":2:2: " + at("folder") + " cannot be read: it is not a regular file",
                   where + ":3:1: /dev/zero cannot be read: it is not a regular file"}));
}

// So that `--config <(…)` works; a reload asks for a regular file.
TEST(Load, TakesTheConfigurationItselfFromAPipeWhereThatIsAllowed) {
  const Directory directory;
  const auto path = (directory.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(lines(load(path, real_environment(), FileKind::regular).problems),
            Lines{path + " cannot be read: it is not a regular file"});
  std::jthread writer([&] { std::ofstream(path) << "searchd {\n workers = 3\n}\n"; });
  const auto loaded = load(path);
  ASSERT_TRUE(loaded.settings);
  EXPECT_EQ(loaded.settings->searchd.workers.value, 3u);
}

TEST(Load, RefusesAnEmptyConfiguration) {
  for (const char* text : {"", "\n\n", "# nothing but a comment\n"})
    EXPECT_EQ(problems_of(text),
              Lines{"the configuration is empty: it needs a table with 'type = distributed' and an "
                    "agent"})
        << text;
}

TEST(Load, AsksTheJudgeAlsoAboutSettingsWithProblemsAndOrdersAllByPlace) {
  const std::string text =
      "searchd {\n workers = many\n ha_strategy = best\n}\n"
      "table t {\n type = distributed\n agent = a:x:1:y:2\n agent = b:1\n}\n";
  const auto judge = [](const Settings& settings, Problems& problems, Problems& notices) {
    for (int shard = 0; shard < 2; ++shard)  // the same mistake, met twice
      problems.push_back({settings.searchd.ha_strategy->at, "no such strategy"});
    notices.push_back({settings.tables.at(0).at, "a notice"});
  };
  const auto loaded = load("c", world({{"c", text}}), FileKind::any, judge);
  EXPECT_FALSE(loaded.settings);
  ASSERT_EQ(loaded.problems.size(), 3u);
  EXPECT_EQ(loaded.problems[0].at.line, 2u);
  EXPECT_EQ(karmad::text(loaded.problems[1]), "c:3:16: no such strategy");
  EXPECT_EQ(loaded.problems[2].at.line, 7u);
}

TEST(Load, GivesSettingsOrProblemsAndNeverBoth) {
  for (const char* text : {"", "searchd {\n}", "searchd {", "table t {\n type = distributed\n}"}) {
    const auto loaded = load_text(text);
    EXPECT_NE(loaded.settings.has_value(), !loaded.problems.empty()) << text;
  }
}

TEST(Load, SurvivesDamagedFiles) {
  const std::string good =
      "# c\nsearchd {\n listen = [::1]:9309:http\n ha_ping_interval = 15ms\n}\n"
      "table a {\n type = distributed\n agent = ${H:-h}:1:t,u|[::1]|/run/s \\\n"
      "  [conn=pconn, retry_count=2]\n}\ntable b : a { ha_strategy = nodeads }\n";
  ASSERT_TRUE(load_text(good).settings);
  std::mt19937 chance(7);
  const std::string_view pieces = "{}[]|:,=#\\$\n \x01\xff/a0-";
  for (int round = 0; round < 3000; ++round) {
    auto text = good;
    for (int i = 0; i < 3; ++i) {
      const auto at = chance() % text.size();
      const auto piece = pieces[chance() % pieces.size()];
      if (chance() % 2 == 0)
        text[at] = piece;
      else
        text.insert(at, 1, piece);
    }
    const auto loaded = load_text(text);
    ASSERT_NE(loaded.settings.has_value(), !loaded.problems.empty()) << text;
  }
}

TEST(Load, OrdersProblemsByPlaceAndListsAHundredAtMost) {
  std::string text = "searchd {\n";
  for (int i = 0; i < 500; ++i) text += " nonsense_key = 1\n";
  const auto problems = load_text(text + "}\n").problems;
  ASSERT_EQ(problems.size(), kEnoughProblems + 1);
  EXPECT_EQ(karmad::text(problems[0]), "c:2:2: unknown key 'nonsense_key'");
  EXPECT_EQ(problems.back().message, "there are more problems, which are not listed");
}

TEST(Load, ShowsNoControlCharactersOfTheFileInItsMessages) {
  EXPECT_EQ(problems_of("searchd {\n log_level = a\x1b[31m\n}"),
            Lines{"c:2:14: log_level: 'a?[31m' is not one of debug, info, warning, error"});
}

}  // namespace
}  // namespace karmad
