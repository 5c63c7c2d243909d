#include "balancer/status/rows/agent_status.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/balancer/status/sample.hpp"

namespace karmad {
namespace {

using Row = std::vector<std::string>;

/// A result set as texts.
struct Shown {
  Row columns;
  std::vector<Row> rows;

  bool operator==(const Shown&) const = default;
};

Shown ask(std::string_view sql, const Snapshot& snapshot = sample_snapshot()) {
  const auto set =
      answer(std::get<sql::StatusStatement>(*sql::read_statement(sql)), snapshot).value();
  Shown shown;
  for (const auto& column : set.columns) shown.columns.emplace_back(column.name);
  for (std::size_t r = 0; r < set.count; ++r)
    for (auto& row = shown.rows.emplace_back(); const auto cell : set.row(r))
      row.push_back(cell_text(cell));
  return shown;
}

std::string value_of(const Shown& set, std::string_view key) {
  for (const auto& row : set.rows)
    if (row.front() == key) return row.at(1);
  return "(no such key)";
}

constexpr const char* kStandingKeys[] = {"_role",       "_tags",          "_staleness_ms",
                                         "_generation", "_rtt_ms",        "_rtt_ms_least",
                                         "_in_flight",  "_max_in_flight", "_unsuitable"};

TEST(ShowAgentStatus, HasEveryKeyInItsOrder) {  // HA-024
  const std::vector<std::string> of_agent{
      "hostname",  "references", "ping",           "has_perspool", "need_resolve",
      "lastquery", "lastanswer", "lastperiodmsec", "pingtripmsec", "errorsarow"};
  const std::vector<std::string> of_period{
      "query_timeouts",    "connect_timeouts", "connect_failures",    "network_errors",
      "wrong_query",       "wrong_replies",    "unexpected_closings", "warnings",
      "succeeded_queries", "msecsperquery",    "connect_count",       "connect_avg",
      "connect_max"};
  std::vector<std::string> expected{"status_period_seconds", "status_stored_periods"};
  for (const std::string agent : {"ag_0_", "ag_1_"}) {
    for (const auto& key : of_agent) expected.push_back(agent + key);
    for (const std::string periods : {"1periods_", "5periods_", "15periods_"})
      for (const auto& key : of_period) expected.push_back(agent + periods + key);
  }
  for (const std::string mirror :
       {"mirror_products_1_1", "mirror_products_1_2", "mirror_products_2_1"})
    for (const auto* key : kStandingKeys) expected.push_back(mirror + key);
  const auto set = ask("SHOW AGENT STATUS");
  std::vector<std::string> keys;
  for (const auto& row : set.rows) keys.push_back(row.front());
  EXPECT_EQ(keys, expected);
  EXPECT_EQ(set.columns, (Row{"Key", "Value"}));
}

TEST(ShowAgentStatus, ShowsEveryValueInItsUnit) {
  const auto set = ask("show agent status");
  const std::vector<Row> expected{
      {"status_period_seconds", "60"},
      {"status_stored_periods", "15"},
      {"ag_0_hostname", "127.0.0.1:9321"},
      {"ag_0_references", "2"},
      {"ag_0_ping", "yes"},
      {"ag_0_has_perspool", "yes"},
      {"ag_0_need_resolve", "no"},
      {"ag_0_lastquery", "0.17"},
      {"ag_0_lastanswer", "0.17"},
      {"ag_0_lastperiodmsec", "0.937"},
      {"ag_0_pingtripmsec", "0.958"},
      {"ag_0_errorsarow", "0"},
      {"ag_0_1periods_succeeded_queries", "7"},
      {"ag_0_1periods_msecsperquery", "1.542"},
      {"ag_0_1periods_connect_count", "3"},
      {"ag_0_1periods_connect_avg", "0.304"},
      {"ag_0_1periods_connect_max", "0.885"},
  };
  for (const auto& row : expected) EXPECT_EQ(value_of(set, row[0]), row[1]) << row[0];
}

TEST(ShowAgentStatus, ShowsElevenRefusedConnectionsAsEleven) {
  const auto set = ask("SHOW AGENT STATUS");
  EXPECT_EQ(value_of(set, "ag_1_errorsarow"), "11");
  for (const std::string periods : {"1", "5", "15"})
    EXPECT_EQ(value_of(set, "ag_1_" + periods + "periods_connect_failures"), "11");
}

TEST(ShowAgentStatus, ShowsHowEveryMirrorStands) {  // SS-046
  const auto set = ask("SHOW AGENT STATUS");
  const std::vector<Row> expected{
      {"mirror_products_1_1_role", "primary"},
      {"mirror_products_1_1_tags", "dc:ny,rack:2"},
      {"mirror_products_1_1_staleness_ms", "n/a"},
      {"mirror_products_1_1_generation", "18446744073709551615"},
      {"mirror_products_1_1_rtt_ms", "0.958"},
      {"mirror_products_1_1_rtt_ms_least", "0.812"},
      {"mirror_products_1_1_in_flight", "1"},
      {"mirror_products_1_1_max_in_flight", "16"},
      {"mirror_products_1_1_unsuitable", "none"},
      {"mirror_products_1_2_role", "unknown"},
      {"mirror_products_1_2_tags", "none"},
      {"mirror_products_1_2_generation", "n/a"},
      {"mirror_products_1_2_rtt_ms", "n/a"},
      {"mirror_products_1_2_rtt_ms_least", "n/a"},
      {"mirror_products_1_2_unsuitable", "not reachable: connection refused"},
      {"mirror_products_2_1_role", "replica"},
      {"mirror_products_2_1_staleness_ms", "2500.000"},
      {"mirror_products_2_1_generation", "41"},
  };
  for (const auto& row : expected) EXPECT_EQ(value_of(set, row[0]), row[1]) << row[0];
}

TEST(ShowAgentStatus, MarksUnmeasuredNumbers) {
  Snapshot snapshot{.agents = {{.address = "h:1"}}};
  const auto set = ask("SHOW AGENT STATUS", snapshot);
  for (const auto* key : {"ag_0_lastquery", "ag_0_lastanswer", "ag_0_lastperiodmsec",
                          "ag_0_pingtripmsec", "ag_0_1periods_msecsperquery"})
    EXPECT_EQ(value_of(set, key), "n/a") << key;
  EXPECT_EQ(value_of(set, "ag_0_15periods_connect_avg"), "0.000");
  EXPECT_EQ(value_of(set, "ag_0_15periods_connect_max"), "0.000");
}

TEST(ShowAgentStatus, KeepsTheKeysThatMatch) {
  EXPECT_EQ(ask("SHOW AGENT STATUS LIKE '%errorsarow%'"),
            (Shown{{"Key", "Value"}, {{"ag_0_errorsarow", "0"}, {"ag_1_errorsarow", "11"}}}));
  EXPECT_EQ(ask("SHOW AGENT STATUS LIKE 'nothing'").rows.size(), 0U);
}

TEST(ShowAgentHost, ShowsOneAgent) {
  const auto set = ask("SHOW AGENT '127.0.0.1:9322' STATUS");
  EXPECT_EQ(set.columns, (Row{"Variable_name", "Value"}));
  EXPECT_EQ(set.rows.size(), 49U);
  EXPECT_EQ(set.rows.front(), (Row{"agent_hostname", "127.0.0.1:9322"}));
  EXPECT_EQ(value_of(set, "agent_5periods_connect_failures"), "11");
  EXPECT_EQ(ask("SHOW AGENT '127.0.0.1:9322' STATUS LIKE '%ping'").rows,
            (std::vector<Row>{{"agent_ping", "yes"}}));
}

TEST(ShowAgentTable, FindsItInAnyCaseOfItsName) {
  EXPECT_EQ(ask("SHOW AGENT Products STATUS"), ask("SHOW AGENT products STATUS"));
}

TEST(ShowAgentTable, ShowsItsShardsAndBlackHoles) {
  EXPECT_EQ(ask("SHOW AGENT products STATUS"),
            (Shown{{"Variable_name", "Value"},
                   {{"dstindex_1_is_ha", "1"},
                    {"dstindex_1_kind", "roles (mixed)"},
                    {"dstindex_1_waiting", "2"},
                    {"dstindex_1_waited", "9"},
                    {"dstindex_1_refused", "4"},
                    {"dstindex_1mirror1_id", "127.0.0.1:9321:s1"},
                    {"dstindex_1mirror1_probability_weight", "66.67%"},
                    {"dstindex_1mirror1_is_blackhole", "0"},
                    {"dstindex_1mirror1_is_persistent", "0"},
                    {"dstindex_1mirror1_role", "primary"},
                    {"dstindex_1mirror1_tags", "dc:ny,rack:2"},
                    {"dstindex_1mirror1_staleness_ms", "n/a"},
                    {"dstindex_1mirror1_generation", "18446744073709551615"},
                    {"dstindex_1mirror1_rtt_ms", "0.958"},
                    {"dstindex_1mirror1_rtt_ms_least", "0.812"},
                    {"dstindex_1mirror1_in_flight", "1"},
                    {"dstindex_1mirror1_max_in_flight", "16"},
                    {"dstindex_1mirror1_unsuitable", "none"},
                    {"dstindex_1mirror2_id", "127.0.0.1:9322:s1,s1b"},
                    {"dstindex_1mirror2_probability_weight", "33.33%"},
                    {"dstindex_1mirror2_is_blackhole", "0"},
                    {"dstindex_1mirror2_is_persistent", "0"},
                    {"dstindex_1mirror2_role", "unknown"},
                    {"dstindex_1mirror2_tags", "none"},
                    {"dstindex_1mirror2_staleness_ms", "n/a"},
                    {"dstindex_1mirror2_generation", "n/a"},
                    {"dstindex_1mirror2_rtt_ms", "n/a"},
                    {"dstindex_1mirror2_rtt_ms_least", "n/a"},
                    {"dstindex_1mirror2_in_flight", "0"},
                    {"dstindex_1mirror2_max_in_flight", "unlimited"},
                    {"dstindex_1mirror2_unsuitable", "not reachable: connection refused"},
                    {"dstindex_2_is_ha", "0"},
                    {"dstindex_2_kind", "direct"},
                    {"dstindex_2_waiting", "0"},
                    {"dstindex_2_waited", "0"},
                    {"dstindex_2_refused", "0"},
                    {"dstindex_2_agent_id", "127.0.0.1:9322:s2"},
                    {"dstindex_2_agent_is_blackhole", "0"},
                    {"dstindex_2_agent_is_persistent", "1"},
                    {"dstindex_2_agent_role", "replica"},
                    {"dstindex_2_agent_tags", "dc:sf"},
                    {"dstindex_2_agent_staleness_ms", "2500.000"},
                    {"dstindex_2_agent_generation", "41"},
                    {"dstindex_2_agent_rtt_ms", "n/a"},
                    {"dstindex_2_agent_rtt_ms_least", "n/a"},
                    {"dstindex_2_agent_in_flight", "0"},
                    {"dstindex_2_agent_max_in_flight", "unlimited"},
                    {"dstindex_2_agent_unsuitable", "none"},
                    {"dstindex_3_is_ha", "0"},
                    {"dstindex_3_agent_id", "127.0.0.1:9321:copy"},
                    {"dstindex_3_agent_is_blackhole", "1"},
                    {"dstindex_3_agent_is_persistent", "0"}}}));
}

TEST(ShowAgentTable, GoesBeforeAnAgentOfThatName) {
  auto snapshot = sample_snapshot();
  snapshot.agents[0].address = "products";
  EXPECT_EQ(ask("SHOW AGENT products STATUS", snapshot).rows.front().front(), "dstindex_1_is_ha");
}

TEST(ShowAgentUnknown, AnswersWithOneRowThatNoPatternHides) {
  const Shown expected{{"Variable_name", "Value"},
                       {{"status_error", "No such distributed table or agent: nosuch"}}};
  EXPECT_EQ(ask("SHOW AGENT nosuch STATUS"), expected);
  EXPECT_EQ(ask("SHOW AGENT nosuch STATUS LIKE 'agent%'"), expected);
}

TEST(ShowTables, ListsThemByName) {
  EXPECT_EQ(ask("SHOW TABLES"),
            (Shown{{"Table", "Type"}, {{"empty", "distributed"}, {"products", "distributed"}}}));
  EXPECT_EQ(ask("SHOW TABLES LIKE 'prod%'").rows, (std::vector<Row>{{"products", "distributed"}}));
}

TEST(Desc, ListsTheAgentsOfATable) {
  EXPECT_EQ(ask("DESC products"), (Shown{{"Agent", "Type"},
                                         {{"127.0.0.1:9321:s1", "remote_1_mirror_1"},
                                          {"127.0.0.1:9322:s1,s1b", "remote_1_mirror_2"},
                                          {"127.0.0.1:9322:s2", "remote_2"},
                                          {"127.0.0.1:9321:copy", "blackhole_3"}}}));
}

TEST(Desc, OfAnUnknownTableIsAnError) {
  const auto result = answer({.show = sql::Show::table, .name = "nope"}, sample_snapshot());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error(), "no table 'nope'; the tables are: products, empty");
}

TEST(ShowStatus, ShowsTheProcessAndEveryMirrorSinceTheStart) {
  const auto set = ask("SHOW STATUS");
  EXPECT_EQ(set.columns, (Row{"Counter", "Value"}));
  EXPECT_EQ(set.rows.size(), 5U + 3 * 13);
  const std::vector<Row> first(set.rows.begin(), set.rows.begin() + 18);
  EXPECT_EQ(first, (std::vector<Row>{{"uptime", "3723"},
                                     {"connections", "73"},
                                     {"version", "0.1.0"},
                                     {"workers_total", "2"},
                                     {"queries", "38"},
                                     {"ag_products_1_1_query_timeouts", "0"},
                                     {"ag_products_1_1_connect_timeouts", "0"},
                                     {"ag_products_1_1_connect_failures", "0"},
                                     {"ag_products_1_1_network_errors", "0"},
                                     {"ag_products_1_1_wrong_query", "0"},
                                     {"ag_products_1_1_wrong_replies", "0"},
                                     {"ag_products_1_1_unexpected_closings", "0"},
                                     {"ag_products_1_1_warnings", "0"},
                                     {"ag_products_1_1_succeeded_queries", "7"},
                                     {"ag_products_1_1_total_query_time", "6.170"},
                                     {"ag_products_1_1_connect_count", "3"},
                                     {"ag_products_1_1_connect_avg", "0.304"},
                                     {"ag_products_1_1_connect_max", "0.885"}}));
  EXPECT_EQ(value_of(set, "ag_products_1_2_connect_failures"), "11");
  EXPECT_EQ(value_of(set, "ag_products_2_1_connect_failures"), "11");
}

/// A key as docs/status.md has it: without the numbers of agents, periods, shards and mirrors.
std::string documented(std::string key) {
  constexpr std::pair<std::string_view, std::string_view> kSpelling[] = {
      {"ag_products_1_1_", ""},
      {"ag_products_1_2_", ""},
      {"ag_0_1periods_", ""},
      {"ag_0_5periods_", ""},
      {"ag_0_15periods_", ""},
      {"ag_0_", "ag_N_"},
      {"ag_1_1periods_", ""},
      {"ag_1_5periods_", ""},
      {"ag_1_15periods_", ""},
      {"ag_1_", "ag_N_"},
      {"mirror_products_1_1_", "mirror_T_S_M_"},
      {"mirror_products_1_2_", "mirror_T_S_M_"},
      {"dstindex_1mirror2", "dstindex_ImirrorJ"},
      {"dstindex_1mirror1", "dstindex_ImirrorJ"},
      {"dstindex_1", "dstindex_I"}};
  for (const auto& [as_shown, as_documented] : kSpelling)
    if (key.starts_with(as_shown)) key.replace(0, as_shown.size(), as_documented);
  return key;
}

TEST(StatusDocument, HasEveryKey) {
  std::ifstream file(KARMAD_SOURCE_DIR "/docs/status.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto snapshot = sample_snapshot();
  snapshot.process.counters.clear();
  snapshot.tables.front().shards.pop_back();  // a lone mirror is told in a sentence
  snapshot.tables.front().blackholes.clear();
  for (const auto* sql : {"SHOW AGENT STATUS", "SHOW AGENT products STATUS", "SHOW STATUS"})
    for (const auto& row : ask(sql, snapshot).rows) {
      const auto key = '`' + documented(row.front()) + '`';
      EXPECT_NE(text.find(key), std::string::npos) << key;
    }
}

TEST(ShowVersion, NamesTheProgramAndItsVersion) {
  EXPECT_EQ(ask("SHOW VERSION"), (Shown{{"Component", "Version"}, {{"karmad", "0.1.0"}}}));
}

}  // namespace
}  // namespace karmad
