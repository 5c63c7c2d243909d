// karmad --check names every mistake in one round, each once, in the order of the file.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "tests/support/cluster.hpp"

namespace karmad::test {
namespace {

struct Checked {
  int code = -1;
  std::vector<std::string> lines;  ///< without the path of the file
  std::string output;
};

Checked check_file(const TempDir& dir, const std::string& path, const char* flag = "-t") {
  Process process("karmad", {flag, "-c", path});
  Checked checked;
  checked.code = process.wait().value_or(-1);
  checked.output = process.output();
  for (std::size_t at = 0; at < checked.output.size();) {
    const auto end = std::min(checked.output.find('\n', at), checked.output.size());
    auto line = checked.output.substr(at, end - at);
    if (line.starts_with(dir.path())) line.erase(0, dir.path().size() + 1);
    checked.lines.push_back(line);
    at = end + 1;
  }
  return checked;
}

Checked check_text(const std::string& text, const char* flag = "-t") {
  const TempDir dir;
  return check_file(dir, dir.file("c", text), flag);
}

constexpr auto kGoodTable = "table good {\n type = distributed\n agent = a:1\n}\n";

/// Each mistake begins with this, in this order, and there is no other.
void expect_mistakes(const std::string& text, const std::vector<std::string>& mistakes) {
  const auto checked = check_text(text);
  EXPECT_EQ(checked.code, 78) << text;
  ASSERT_EQ(checked.lines.size(), mistakes.size() + 1) << text << "\n" << checked.output;
  for (std::size_t i = 0; i < mistakes.size(); ++i)
    EXPECT_TRUE(checked.lines[i].starts_with(mistakes[i])) << checked.lines[i] << "\nis not\n"
                                                           << mistakes[i];
}

TEST(CheckInOneRound, AMisspeltKeyHidesNothing) {
  expect_mistakes("table t {\n tpye = distributed\n ha_strategy = leastop\n agent = a:1|b:1\n}\n",
                  {"c:2:2: unknown key 'tpye'", "c:3:16: ha_strategy 'leastop' is unknown"});
  expect_mistakes("table t {\n tpye = distributed\n agnet = a:99999|b:1[role=boss]\n}\n",
                  {"c:2:2: unknown key 'tpye'", "c:3:2: unknown key 'agnet'", "c:3:12: port 99999",
                   "c:3:27: role 'boss' is unknown"});
  expect_mistakes(
      std::string("searchd {\n ha_stratgy = rondom\n log_levle = loud\n}\n") + kGoodTable,
      {"c:2:2: unknown key 'ha_stratgy'", "c:2:15: ha_strategy 'rondom' is unknown",
       "c:3:2: unknown key 'log_levle'", "c:3:14: log_level: 'loud'"});
}

TEST(CheckInOneRound, AWrongOrMissingTypeHidesNothing) {
  expect_mistakes("table t {\n agent = a:0\n hedge = often\n}\n",
                  {"c:1:1: table 't' has agents, but no 'type = distributed'",
                   "c:2:12: an agent cannot have port 0", "c:3:10: hedge: 'often'"});
  expect_mistakes("table t {\n type = distribtued\n agent = a:1\n updates = some\n}\n",
                  {"c:2:9: unknown type 'distribtued'", "c:4:12: updates: 'some'"});
}

TEST(CheckInOneRound, AWrongHeadDoesNotExcuseWhatIsMissing) {
  expect_mistakes("tabel t {\n agent = a:1\n}\n",
                  {"c:1:1: unknown section 'tabel'", "c:1:1: table 't' has agents, but no 'type"});
  expect_mistakes(
      "table a {\n type = distributed\n agent = a:1\n}\ntabel b : a {\n hedge = often\n}\n",
      {"c:5:1: unknown section", "c:6:10: hedge: 'often'"});
  expect_mistakes("tabel t {\n type = distributed\n}\n",
                  {"c:1:1: unknown section 'tabel'", "c:1:1: table 't' needs a line of agent"});
  expect_mistakes("table t {\n agnet = a:0\n}\n",
                  {"c:1:1: table 't' has agents, but no 'type", "c:2:2: unknown key 'agnet'",
                   "c:2:12: an agent cannot"});
  expect_mistakes(std::string(kGoodTable) + "table b : nobody {\n hedge = often\n}\n",
                  {"c:5:11: the parent 'nobody' of table 'b'", "c:6:10: hedge: 'often'"});
}

TEST(CheckInOneRound, AWrongSectionHidesNothing) {
  expect_mistakes(std::string("serchd {\n workers = x\n}\n") + kGoodTable,
                  {"c:1:1: unknown section 'serchd'", "c:2:12: workers: 'x'"});
  expect_mistakes("tabel t {\n type = distributed\n agent = a:1\n hedge = often\n}\n",
                  {"c:1:1: unknown section 'tabel'", "c:4:10: hedge: 'often'"});
  expect_mistakes(std::string(kGoodTable) + "table {\n type = distributed\n agent = a:0\n}\n",
                  {"c:5:7: expected the name of the table", "c:7:12: an agent cannot"});
  expect_mistakes(std::string("searchd x {\n workers = x\n}\n") + kGoodTable,
                  {"c:1:1: section searchd has no name", "c:2:12: workers: 'x'"});
  expect_mistakes(std::string(kGoodTable) + "table good {\n type = distributed\n agent = a:0\n}\n",
                  {"c:5:1: table 'good' is already defined in", "c:7:12: an agent cannot"});
  expect_mistakes(std::string("searchd {\n listen = 127.0.0.1:7\n}\nsearchd {\n max_hops = 999\n"
                              " listen = 127.0.0.1:7\n}\n") +
                      kGoodTable,
                  {"c:4:1: searchd is already defined in", "c:5:13: max_hops is larger than 100"});
  expect_mistakes(std::string(kGoodTable) + "table b : goood {\n hedge = often\n}\n",
                  {"c:5:11: the parent 'goood' of table 'b'", "c:6:10: hedge: 'often'"});
}

TEST(CheckInOneRound, AMissingSignHidesNothing) {
  expect_mistakes("table t {\n type = distributed\n agent a:0\n hedge: often\n}\n",
                  {"c:3:8: expected '=' after 'agent'", "c:3:10: an agent cannot have port 0",
                   "c:4:7: expected '=' after 'hedge'", "c:4:9: hedge: 'often'"});
}

TEST(CheckInOneRound, AKeyInTheWrongSectionIsCheckedToo) {
  expect_mistakes(
      "searchd {\n request_burst = 1x\n}\ntable t {\n type = distributed\n"
      " agent = a:1\n log_level = loud\n}\n",
      {"c:2:2: 'request_burst' belongs in a distributed table", "c:2:19: request_burst",
       "c:7:2: 'log_level' belongs in searchd", "c:7:14: log_level: 'loud'"});
}

TEST(CheckInOneRound, AMistakeInAnAgentLineHidesNoOtherOne) {
  expect_mistakes(
      "table t {\n type = distributed\n"
      " agent = ho!st:99999:ta!ble[wieght=3,role=boss]|b:1:t|127.0.0.1:9308:t\n}\n",
      {"c:3:12: '!' cannot be part", "c:3:16: port 99999", "c:3:22: 'ta!ble' is not",
       "c:3:29: unknown option 'wieght'", "c:3:43: role 'boss' is unknown",
       "c:3:55: 127.0.0.1:9308 is karmad itself"});
  expect_mistakes(
      "table t {\n type = distributed\n"
      " agent = a:1[role=primary, ha_strategy=foo weight=x]\n agent_blackhole = b:1 "
      "[ping_type=sonar]\n}\n",
      {"c:3:28: a bracket holds options", "c:3:40: ha_strategy 'foo'", "c:3:43: a comma is needed",
       "c:3:51: 'x' does not begin", "c:4:35: ping_type 'sonar'"});
  expect_mistakes("table t {\n type = distributed\n agent = [::1:1|b:0|c:1[tags=x;y|d:0\n}\n",
                  {"c:3:10: the '[' of an IPv6 address has no ']'", "c:3:19: an agent cannot",
                   "c:3:24: the '[' of the options has no ']'", "c:3:30: the tag 'x' has no value",
                   "c:3:30: the tag 'y' has no value", "c:3:36: an agent cannot"});
}

TEST(CheckInOneRound, EveryElementOfAListIsChecked) {
  expect_mistakes(std::string("searchd {\n listen = ho!st:99999:htpp\n"
                              " ingress_connection_bypass = 10.0.0.300, ::1, abc\n"
                              " search_timeouts = 1x, 1s, 2y\n tag_sets = a,b:c|d\n}\n") +
                      kGoodTable,
                  {"c:2:13: '!' cannot be part", "c:2:17: port 99999", "c:2:23: unknown protocol",
                   "c:3:30: ingress_connection_bypass: '10.0.0.300'",
                   "c:3:47: ingress_connection_bypass: 'abc'", "c:4:21: search_timeouts: '1x'",
                   "c:4:29: search_timeouts: '2y'", "c:5:13: tag_sets needs a read_preference",
                   "c:5:13: the tag 'a' has no value", "c:5:13: the tag 'd' has no value"});
}

TEST(CheckInOneRound, SettingsThatNoLineUsesAreChecked) {
  expect_mistakes(
      "searchd {\n ha_strategy = foo\n ping_type = bar\n max_in_flight = some\n}\n"
      "table t {\n type = distributed\n ha_strategy = random\n ping_type = http\n"
      " max_in_flight = 5\n agent = a:1|b:1\n}\n",
      {"c:2:16: ha_strategy 'foo'", "c:3:14: ping_type 'bar'", "c:4:18: "});
}

TEST(CheckInOneRound, AnUnknownDialectDoesNotMakeItsRouteAMistake) {
  expect_mistakes(
      "table t {\n type = distributed\n dialect = htpp\n route = /x\n reads = y\n agent = a:1\n}\n",
      {"c:3:12: dialect 'htpp' is unknown", "c:5:10: reads is not a path"});
}

TEST(CheckInOneRound, AnUnsetVariableIsOneMistake) {
  expect_mistakes(
      "searchd {\n workers = ${KARMAD_NO_SUCH}\n log_level = loud\n}\n"
      "table t {\n type = distributed\n agent = ${KARMAD_NO_SUCH}:1:t\n}\n"
      "include = ${KARMAD_NO_SUCH}.conf\n",
      {"c:2:12: the environment variable", "c:3:14: log_level: 'loud'",
       "c:7:10: the environment variable", "c:9:11: the environment variable"});
}

TEST(CheckInOneRound, AWrongIncludeIsAMistakeAndHidesNothing) {
  const TempDir dir;
  dir.file("more", "table m {\n type = distributed\n agent = a:0\n}\n");
  const auto checked = check_file(
      dir,
      dir.file("c", std::string("include = missing.conf\ninclude more\ninclude = none*.conf\n") +
                        kGoodTable));
  EXPECT_EQ(checked.code, 78);
  ASSERT_EQ(checked.lines.size(), 4u) << checked.output;
  EXPECT_TRUE(checked.lines[0].starts_with("c:1:1: the file ")) << checked.lines[0];
  EXPECT_TRUE(checked.lines[1].starts_with("c:2:9: expected '=' after include"))
      << checked.lines[1];
  EXPECT_TRUE(checked.lines[2].starts_with("more:3:12: an agent cannot")) << checked.lines[2];
}

TEST(Check, TIsShortForCheck) {
  const auto shorter = check_text(kGoodTable, "-t");
  EXPECT_EQ(shorter.code, 0) << shorter.output;
  EXPECT_EQ(check_text(kGoodTable, "--check").code, 0);
}

TEST(Check, RefusesAConfigurationWithoutATableOrAnHttpListener) {
  expect_mistakes("searchd {\n listen = 9308\n workers = x\n}\n",
                  {"c:3:12: workers: 'x'", "there is no distributed table"});
  expect_mistakes(
      std::string("searchd {\n listen = 9312:sphinx\n listen = /tmp/s:sphinx\n}\n") + kGoodTable,
      {"c:2:11: no listen is for HTTP or MySQL, the protocols of karmad; add a line such as "
       "listen = 127.0.0.1:9308:http"});
  EXPECT_EQ(check_text(std::string("searchd {\n}\n") + kGoodTable).code, 0)
      << "without a listen: the default address, as with the search server";
}

TEST(Check, RefusesAnAgentThatIsTheServersOwnListener) {
  std::array<char, 256> host{};
  ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
  const struct {
    std::string listen;
    std::string agent;
    bool own;
  } cases[] = {
      {"127.0.0.1:7", "127.0.0.1:7", true},
      {"127.0.0.1:7", "localhost:7", true},
      {"*:7", "127.0.0.9:7", true},
      {"7", "[::1]:7", true},
      {"*:7", "0.0.0.0:7", true},
      {"*:7", std::string(host.data()) + ":7", true},
      {"[::1]:7", "localhost:7", true},
      {"[::]:7", "[::1]:7", true},
      {"0.0.0.0:7", "[::1]:7", false},
      {"127.0.0.1:7", "127.0.0.1:8", false},
      {"127.0.0.1:7", "127.0.0.2:7", false},
      {"*:7", "192.0.2.1:7", false},
      {"*:7", "no-such-host.example:7", false},
      {"/tmp/k/./a.sock", "/tmp/k/a.sock", true},
      {"/tmp/k/a.sock", "/tmp/k/b.sock", false},
  };
  for (const auto& c : cases) {
    const auto checked =
        check_text(fmt::format("searchd {{\n listen = {}\n}}\ntable t {{\n type = distributed\n"
                               " agent = b:1|{}:t\n}}\n",
                               c.listen, c.agent));
    EXPECT_EQ(checked.code, c.own ? 78 : 0) << c.listen << " " << c.agent << checked.output;
    EXPECT_EQ(checked.output.contains("is karmad itself"), c.own) << checked.output;
  }
}

TEST(Check, NamesWhatHasNoEffect) {
  const auto checked = check_text(
      "searchd {\n breaker_reads = 3\n outlier_time = 5s\n max_in_flight_min = 5\n"
      " access_log_sample = 0.5\n ingress_request_burst = 2s\n low_priority_tickets = 3\n"
      " throughput_probing_min_concurrency = 5\n listen_socket_mode = 0600\n choices = 3\n}\n"
      "table t {\n type = distributed\n outlier = off\n hedge = 50ms\n request_burst = 5s\n"
      " partial_results = deny\n required = no\n agent = a:1[weight=2]\n}\n");
  EXPECT_EQ(checked.code, 0) << checked.output;
  for (const auto* line :
       {"c:2:18: warning: breaker_reads has no effect: no table has breaker = 1",
        "c:3:17: warning: outlier_time has no effect", "c:4:22: warning: max_in_flight_min has no",
        "c:5:22: warning: access_log_sample has no effect: there is no access_log",
        "c:6:26: warning: ingress_request_burst has no effect",
        "c:7:25: warning: low_priority_tickets has no effect: low_priority = 0",
        "c:8:39: warning: throughput_probing_min_concurrency has no effect",
        "c:9:23: warning: listen_socket_mode has no effect: no listen is a unix socket",
        "c:10:12: warning: choices has no effect with ha_strategy = random",
        "c:15:10: warning: hedge has no effect: each shard of the table has one agent",
        "c:16:18: warning: request_burst has no effect: request_rate is unlimited",
        "c:17:20: warning: partial_results has no effect: the table has one shard",
        "c:18:13: warning: no table is required", "warning: weight has no effect"})
    EXPECT_TRUE(checked.output.contains(line)) << line << "\n" << checked.output;
}

TEST(Check, WarnsOfAStateFileThatIsNone) {
  const TempDir dir;
  const auto state = dir.file("state", "searchd {\n}\n");
  const auto with_state = [&](const std::string& path) {
    return check_file(
        dir, dir.file("c", fmt::format("searchd {{\n state_file = {}\n}}\n{}", path, kGoodTable)));
  };
  const auto checked = with_state(state);
  EXPECT_EQ(checked.code, 0) << checked.output;
  EXPECT_TRUE(checked.output.contains("c:2:15: warning: state_file " + state +
                                      " is not used: not JSON at byte 0"))
      << checked.output;
  EXPECT_FALSE(with_state(dir.path() + "/none_yet").output.contains("warning"));
}

std::size_t count_of(std::string_view what, std::string_view text) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Check, NamesRefusedUpdatesOfAThousandTablesOnceAlsoAtTheStartAndAtAReload) {
  constexpr std::string_view kNotice =
      "updates of 1000 tables (t1, t2, t3 and 997 more) will be refused";
  std::string tables;
  for (int i = 1; i <= 1000; ++i)
    tables +=
        fmt::format("table t{} {{\n type = distributed\n agent = 127.0.0.1:1|127.0.0.2:1\n}}\n", i);
  const auto checked = check_text(tables);
  EXPECT_EQ(checked.code, 0);
  EXPECT_EQ(count_of("will be refused", checked.output), 1U);
  EXPECT_EQ(count_of(kNotice, checked.output), 1U);
  constexpr auto kSearchd = "ha_ping_interval = 0\n workers = 1";
  Master master(kSearchd, tables);
  EXPECT_EQ(count_of(kNotice, master.process().output()), 1U);
  ASSERT_TRUE(master.reload(kSearchd, tables));
  EXPECT_TRUE(eventually([&] { return count_of(kNotice, master.process().output()) == 2; }));
  EXPECT_EQ(count_of("will be refused", master.process().output()), 2U);
}

}  // namespace
}  // namespace karmad::test
