#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

struct Ran {
  int code = -1;
  std::string output;
};
Ran run(const std::vector<std::string>& arguments) {
  Process process("karmad", arguments);
  const auto code = process.wait();
  return {code.value_or(-1000), process.output()};
}

constexpr auto kGood =
    "searchd {\n listen = 127.0.0.1:0\n ha_strategy = nodeads\n agent_query_timeout = 2s\n}\n"
    "table t {\n type = distributed\n agent = 127.0.0.1:9321|127.0.0.1:9322:s1 [retry_count=2]\n"
    " agent_query_timeout = 1500ms\n}\n"
    "table web {\n type = distributed\n dialect = http\n route = /web\n path = /\n"
    " reads = /web/find, /web/views/*\n agent = [::1]:80\n}\n";

TEST(CommandLine, PrintsHelpAndVersion) {
  const auto help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const auto* word : {"--config", "--check", "--dump-config", "--version", "78", "71", "HUP"})
    EXPECT_TRUE(help.output.contains(word)) << word;
  EXPECT_EQ(run({"-h"}).output, help.output);
  const auto version = run({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(version.output.starts_with("karmad " KARMAD_VERSION "\ncommit: ")) << version.output;
  for (const auto* fact : {"compiler: ", "build: ", "allocator: ", "Boost 1."})
    EXPECT_TRUE(version.output.contains(fact)) << fact;
}

TEST(CommandLine, UnknownArgumentsAreAUsageError) {
  TempDir dir;
  const auto good = dir.file("good.conf", kGood);
  const std::vector<std::vector<std::string>> cases{{},
                                                    {"--nosuch"},
                                                    {"--config"},
                                                    {"--config", good, "--nosuch"},
                                                    {"--config", good, "more"},
                                                    {"--config", good, "--check", "--dump-config"},
                                                    {"--config", good, "--check", "--takeover"},
                                                    {"--check"},
                                                    {"--dump-config"}};
  for (const auto& arguments : cases) {
    const auto ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << ran.output;
    EXPECT_FALSE(ran.output.empty());
  }
}

TEST(CommandLine, AFileThatCannotBeReadIsAConfigurationError) {
  TempDir dir;
  for (const auto& path : {dir.path() + "/missing.conf", dir.path()})
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"--check"}, {"--dump-config"}}) {
      auto arguments = std::vector<std::string>{"--config", path};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const auto ran = run(arguments);
      EXPECT_EQ(ran.code, 78);
      EXPECT_TRUE(ran.output.contains(path)) << ran.output;
    }
}

TEST(Check, AcceptsAGoodFileAndChangesNothing) {
  TempDir dir;
  const auto good = dir.file("good.conf", kGood);
  const auto ran = run({"--config", good, "--check"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(ran.output.contains("no problems")) << ran.output;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(Check, NamesEveryProblemAtOnceWithItsPlace) {
  TempDir dir;
  const auto bad = dir.file("bad.conf",
                            "searchd {\n"                                      // 1
                            "  listen = 127.0.0.1:0\n"                         // 2
                            "  agent_query_timeuot = 2s\n"                     // 3
                            "  ha_strategy = nodead\n"                         // 4
                            "  client_timeout = 5 parsecs\n"                   // 5
                            "}\n"                                              // 6
                            "table t {\n"                                      // 7
                            "  type = distributed\n"                           // 8
                            "  agent = 127.0.0.1:99999:t\n"                    // 9
                            "  agent = 127.0.0.1:9321:t [ha_strategy=best]\n"  // 10
                            "}\n"                                              // 11
                            "table w {\n"                                      // 12
                            "  type = distributed\n"                           // 13
                            "  dialect = smtp\n"                               // 14
                            "  agent = 127.0.0.1:9321:t\n"                     // 15
                            "}\n"                                              // 16
                            "table none {\n"                                   // 17
                            "  type = distributed\n"                           // 18
                            "}\n");                                            // 19
  for (const auto* mode : {"--check", "--dump-config"}) {
    const auto ran = run({"--config", bad, mode});
    EXPECT_EQ(ran.code, 78);
    for (const auto* place : {":3:3: ", ":5:", ":9:", ":17:"})
      EXPECT_TRUE(ran.output.contains(bad + place)) << place << "\n" << ran.output;
    EXPECT_TRUE(ran.output.contains("agent_query_timeout")) << ran.output;  // the closest word
    EXPECT_TRUE(ran.output.contains("problems in the configuration"));
  }
  // Problems that only the balancer can find are in the same list.
  const auto later = dir.file("later.conf",
                              "searchd {\n  listen = 127.0.0.1:0\n  ha_strategy = nodead\n}\n"
                              "table t {\n  type = distributed\n  dialect = http\n"
                              "  route = /search\n  agent = 127.0.0.1:9321:t\n}\n");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"-c", later}, {"-c", later, "--check"}}) {
    const auto judged = run(arguments);
    EXPECT_EQ(judged.code, 78);
    EXPECT_TRUE(judged.output.contains(later + ":3:17: ")) << judged.output;
    EXPECT_TRUE(judged.output.contains("nodeads")) << judged.output;
    EXPECT_TRUE(judged.output.contains(later + ":8:11: ")) << judged.output;
  }
}

/// A dump without the places, which name the file it was made from.
std::string without_places(const std::string& dump) {
  std::string out;
  for (std::size_t at = 0; at < dump.size();) {
    const auto end = std::min(dump.find('\n', at), dump.size());
    const auto line = dump.substr(at, end - at);
    out += line.substr(0, line.find("  # ")) + "\n";
    at = end + 1;
  }
  return out;
}

TEST(DumpConfig, LoadsAgainToTheSame) {
  TempDir dir;
  const auto good = dir.file("good.conf", kGood);
  const auto first = run({"-c", good, "--dump-config"});
  EXPECT_EQ(first.code, 0);
  EXPECT_TRUE(first.output.contains("ha_strategy = nodeads  # " + good + ":3:")) << first.output;
  EXPECT_TRUE(first.output.contains("# default")) << first.output;
  const auto dumped = dir.file("dumped.conf", first.output);
  EXPECT_EQ(run({"-c", dumped, "--check"}).code, 0);
  const auto second = run({"-c", dumped, "--dump-config"});
  EXPECT_EQ(without_places(second.output), without_places(first.output));
}

class Ports : public testing::Test {
 protected:
  TempDir dir;
  std::string config(const std::string& listen) {
    return dir.file("karmad.conf",
                    fmt::format("searchd {{\n  workers = 2\n  listen = {}\n}}\n"
                                "table t {{\n type = distributed\n agent = 127.0.0.1:1:t\n}}\n",
                                listen));
  }
};

TEST_F(Ports, OneInUseEndsTheStartAndIsNamedWithItsSetting) {
  FakeMirror holder([](const std::string&) { return json("{}"); });
  const auto path = config(holder.address());
  const auto ran = run({"-c", path});
  EXPECT_EQ(ran.code, 71);
  EXPECT_TRUE(ran.output.contains(holder.address())) << ran.output;
  EXPECT_TRUE(ran.output.contains(path + ":3:")) << ran.output;
}

TEST_F(Ports, OneThatAnotherKarmadHoldsIsInUseToo) {  // though both would share it
  Master other("workers = 2", "table t {\n type = distributed\n agent = 127.0.0.1:1:t\n}\n");
  const auto path = config(fmt::format("127.0.0.1:{}", other.port()));
  for (int i = 0; i < 5; ++i) {
    const auto ran = run({"-c", path});
    EXPECT_EQ(ran.code, 71);
    EXPECT_TRUE(ran.output.contains(fmt::format("127.0.0.1:{}", other.port()))) << ran.output;
    EXPECT_TRUE(ran.output.contains(path + ":3:")) << ran.output;
  }
  EXPECT_EQ(get(other.port(), "/healthz").status, 200);
}

TEST_F(Ports, AForeignAddressOrAMissingFolderIsAnErrorOfTheSystem) {
  for (const auto& listen : {std::string("192.0.2.1:9308"), dir.path() + "/no/such/socket"}) {
    const auto path = config(listen);
    const auto ran = run({"-c", path});
    EXPECT_EQ(ran.code, 71) << ran.output;
    EXPECT_TRUE(ran.output.contains(listen)) << ran.output;
    EXPECT_TRUE(ran.output.contains(path + ":3:")) << ran.output;
  }
}

TEST_F(Ports, ASocketFileLeftBehindIsNoObstacleAndOneInUseIs) {
  const auto socket = dir.path() + "/karmad.sock";
  const auto path = config(socket);
  {
    Process first("karmad", {"-c", path});
    ASSERT_TRUE(first.wait_for("listening on"));
    const auto second = run({"-c", path});
    EXPECT_EQ(second.code, 71) << second.output;
    EXPECT_TRUE(second.output.contains(socket)) << second.output;
    first.kill();
    first.wait();
  }
  Process third("karmad", {"-c", path});
  EXPECT_TRUE(third.wait_for("listening on")) << third.output();
}

}  // namespace
}  // namespace karmad::test
