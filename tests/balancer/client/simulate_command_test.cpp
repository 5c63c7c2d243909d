#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "balancer/client/commands.hpp"

namespace karmad {
namespace {

struct CommandResult {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs the command line in this process.
CommandResult karmad_simulate(std::vector<std::string> arguments) {
  CLI::App app;
  const CommandLine commands(app);
  std::ranges::reverse(arguments);
  arguments.emplace_back("simulate");
  CommandResult result;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  try {
    app.parse(arguments);
    result.code = commands.run({}).value_or(-1);
  } catch (const CLI::ParseError& error) {
    result.code = 2;
    std::cerr << error.what();
  }
  result.out = ::testing::internal::GetCapturedStdout();
  result.err = ::testing::internal::GetCapturedStderr();
  return result;
}

/// A file that is removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + '-' + name)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }
  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path_).rdbuf();
    return all.str();
  }
  void write(std::string_view text) const { std::ofstream(path_) << text; }

 private:
  std::filesystem::path path_;
};

TEST(SimulateCommand, ListsTheScenarios) {
  for (const auto& arguments : {std::vector<std::string>{"--list"}, {"--scenario", "list"}}) {
    const auto result = karmad_simulate(arguments);
    EXPECT_EQ(result.code, 0);
    EXPECT_NE(result.out.find("slow10"), std::string::npos);
    EXPECT_NE(result.out.find("one of four mirrors becomes ten times slower"), std::string::npos);
  }
}

TEST(SimulateCommand, PrintsATableForEachScenario) {
  const auto result = karmad_simulate({"--scenario", "homogeneous,slow3", "--strategy",
                                       "random,leastops", "--duration", "0.2", "--rate", "500"});
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.out.find("homogeneous: four equal mirrors"), std::string::npos);
  EXPECT_NE(result.out.find("\nslow3: "), std::string::npos);
  EXPECT_NE(result.out.find("\nleastops "), std::string::npos);
  EXPECT_NE(result.out.find("\noracle "), std::string::npos);
  EXPECT_EQ(result.err, "");
}

TEST(SimulateCommand, ReadsAFileAndWritesAReport) {
  const TemporaryFile scenario("own.scn");
  const TemporaryFile page("report.html");
  scenario.write("rate 100\nduration 1\nprofile svc=exp:5\nset hedge = p95\n");
  const auto result = karmad_simulate(
      {"--scenario", scenario.path(), "--strategy", "random", "--csv", "--html", page.path()});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out.substr(0, 18), "scenario,strategy,");
  EXPECT_NE(page.text().find("<html"), std::string::npos);
  EXPECT_EQ(karmad_simulate({"--scenario", scenario.path(), "--strategy", "random", "--html",
                             "/no/such/folder/x.html"})
                .code,
            1);
}

constexpr std::string_view kAccessLine =
    R"({"time":"2026-11-14T22:13:20.000042Z","id":1,"operation":"search","table":"products","total_ms":5.1,)"
    R"("attempts":[{"shard":1,"mirror":"127.0.0.1:9321","start_us":10,"end_us":5010,"outcome":"answered"}]})";

TEST(SimulateCommand, ReplaysAnAccessLog) {
  const TemporaryFile log("access.log");
  const TemporaryFile page("replay.html");
  log.write(std::string(kAccessLine) + "\nsomething else\n");
  const auto result = karmad_simulate({"--trace", log.path(), "--strategy", "random,leastops",
                                       "--set", "hedge = p95", "--html", page.path()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("1 recorded searches in 1 shard\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\nleastops "), std::string::npos);
  EXPECT_NE(result.out.find("\nrecorded "), std::string::npos);
  EXPECT_EQ(result.out.find("\noracle "), std::string::npos);
  EXPECT_NE(result.err.find("1 line skipped: no JSON of an access log"), std::string::npos);
  EXPECT_NE(page.text().find("127.0.0.1:9321"), std::string::npos);
  for (const auto* const format : {"--csv", "--json"}) {
    const auto numbers =
        karmad_simulate({"--trace", log.path(), "--strategy", "random", format}).out;
    EXPECT_NE(numbers.find("recorded"), std::string::npos) << format;
  }
}

TEST(SimulateCommand, AnAccessLogReplacesTheOptionsOfScenarios) {
  const TemporaryFile log("access2.log");
  log.write(std::string(kAccessLine) + '\n');
  for (const auto* const option :
       {"--scenario", "--rate", "--mirrors", "--duration", "--masters"}) {
    const auto result = karmad_simulate({"--trace", log.path(), option, "1"});
    EXPECT_EQ(result.code, 2) << option;
    EXPECT_NE(result.err.find("excludes"), std::string::npos) << result.err;
  }
}

TEST(SimulateCommand, AnAccessLogWithoutSearchesIsAnError) {
  const TemporaryFile log("access3.log");
  log.write("1\n2\n");
  const auto result = karmad_simulate({"--trace", log.path()});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1);
  EXPECT_NE(result.err.find("nothing to replay in 2 lines: not JSON of an access log: 2;"),
            std::string::npos)
      << result.err;
}

TEST(SimulateCommand, PrintsNoLog) {
  const std::vector<std::string> arguments{"--scenario", "overload",   "--strategy",
                                           "random",     "--duration", "1",
                                           "--csv",      "--set",      "search_tickets = auto"};
  const auto result = karmad_simulate(arguments);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(std::ranges::count(result.out, '\n'), 3);
  EXPECT_EQ(result.out, karmad_simulate(arguments).out);
  EXPECT_EQ(result.err, "");
}

TEST(SimulateCommand, MistakesHaveOneClearErrorEach) {
  struct {
    std::vector<std::string> arguments;
    const char* error;
  } const cases[] = {
      {{}, "give --scenario NAME or --trace FILE"},
      {{"--trace", "/no/such.log"}, "/no/such.log: No such file or directory"},
      {{"--trace", "/"}, "/: "},
      {{"--scenario", "slow1"}, "there is no scenario 'slow1'; did you mean 'slow10'?"},
      {{"--scenario", "/no/such.scn"}, "/no/such.scn"},
      {{"--scenario", "die", "--strategy", "leastop"}, "unknown strategy 'leastop'; did you mean"},
      {{"--scenario", "die", "--strategy", "ars,random,ars"}, "strategy 'ars' is given twice"},
      {{"--scenario", "die", "--strategy", "ars", "--strategy", "ars"}, "'ars' is given twice"},
      {{"--scenario", "die", "--rate", "nan"}, "give a number from"},
      {{"--scenario", "die", "--rate", "-1"}, "give a number from"},
      {{"--scenario", "die", "--seed", "-1"}, "--seed: give a number from 0 to"},
      {{"--scenario", "die", "--masters", "0"}, "give a number from 1 to 100"},
      {{"--scenario", "die", "--mirrors", "1001"}, "give a number from 1 to 1000"},
      {{"--scenario", "die", "--mirrors", "1"}, "there is no mirror m2"},
      {{"--scenario", "die", "--rate", "1e8", "--duration", "80"}, "requests are too many"},
      {{"--scenario", "die", "--set", "hegde = p95"}, "did you mean 'hedge'?"},
  };
  for (const auto& [arguments, error] : cases) {
    const auto result = karmad_simulate(arguments);
    EXPECT_EQ(result.code, 2) << error;
    EXPECT_NE(result.err.find(error), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

}  // namespace
}  // namespace karmad
