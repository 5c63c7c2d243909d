#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/plan.hpp"
#include "tests/agent/dialect/sql_reading.hpp"
#include "tests/agent/transport/exact_bytes.hpp"

namespace karmad {
namespace {

std::string why_call_is_refused(std::string_view statement) {
  const auto read = sql_reading::read_call(statement);
  return read ? "read" : read.error().reason;
}

std::string asked_of_shard(std::string_view statement, std::size_t shards = 2) {
  const auto call = sql_reading::read_call(statement);
  if (!call) return call.error().reason;
  const auto plan = plan_call(statement, *call, shards, RowForm::raw);
  if (!plan) return plan.error().reason;
  const std::string tables[] = {"it's"};
  std::string out;
  return std::string(write_planned(*plan, 0, tables, out).body);
}

std::string columns_of(std::vector<std::string> names) {
  std::string text;
  for (const auto& name : names)
    text += fmt::format(R"({}{{"{}":{{"type":"string"}}}})", text.empty() ? "" : ",", name);
  return text;
}

std::string raw(std::vector<std::string> columns,
                const std::vector<std::vector<std::string>>& rows) {
  std::string text = "[{\n\"columns\":[" + columns_of(columns) + "],\n\"data\":[\n";
  for (const auto& row : rows) {
    if (&row != &rows.front()) text += ",\n";
    text += '{';
    for (std::size_t c = 0; c < row.size(); ++c)
      text += fmt::format(R"({}"{}":"{}")", c == 0 ? "" : ",", columns[c], row[c]);
    text += '}';
  }
  if (!rows.empty()) text += '\n';
  return text +
         fmt::format("],\n\"total\":{},\n\"error\":\"\",\n\"warning\":\"\"\n}}]", rows.size());
}

std::string merged_call(std::string_view statement, const std::vector<std::string>& answers) {
  const auto call = sql_reading::read_call(statement);
  if (!call) return call.error().reason;
  const auto plan = plan_call(statement, *call, answers.size(), RowForm::raw);
  if (!plan) return plan.error().reason;
  std::vector<ShardReply> replies;
  for (const auto& answer : answers) replies.push_back({answer});
  std::string out;
  if (const auto bad = merge(*plan, replies, {}, out))
    return fmt::format("bad shard {}: {}", bad->shard, bad->reason);
  return out;
}

TEST(Call, FindsTheTableInItsPlace) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"CALL PQ('t', '{\"a\":1}', 1 AS query)", "t"},
      {"call pq ('t', ('{}', '{}'), 0 as docs_json);", "t"},
      {"CALL KEYWORDS('a b', 't', 1)", "t"},
      {"CALL SUGGEST('a', 't', 5 limit)", "t"},
      {"CALL QSUGGEST('a', \"t\")", "t"},
      {"CALL KEYWORDS('a', 't', 1, 1 AS stats)", "t"},
      {"CALL SNIPPETS(('x','y'), 't', 'q', 5 AS around)", "t"},
      {"CALL AUTOCOMPLETE('a', 't', 0 AS fuzziness)", "t"},
  };
  for (const auto& [statement, table] : cases) {
    const auto read = sql_reading::read_call(statement);
    ASSERT_TRUE(read) << read.error().reason;
    EXPECT_EQ(read->table, table) << statement;
  }
}

TEST(Call, RefusesASecondTable) {
  for (const std::string procedure :
       {"KEYWORDS", "SUGGEST", "QSUGGEST", "AUTOCOMPLETE", "SNIPPETS", "PQ"})
    for (const std::string option : {" as table", " AS `table`", " TABLE", " as index", " Index"}) {
      const auto call = "CALL " + procedure;
      EXPECT_NE(why_call_is_refused(call + "('a', 'secret', 't'" + option + ")"), "read") << option;
      EXPECT_NE(why_call_is_refused(call + "('a', 't'" + option + ")"), "read") << option;
      EXPECT_NE(why_call_is_refused(call + "('a'" + option + ", 't', 'secret')"), "read") << option;
    }
  EXPECT_EQ(why_call_is_refused("CALL KEYWORDS('a', 'secret', 't' as table)"),
            "CALL: no option table (at offset 36); the table of CALL keywords is argument 2");
}

TEST(Call, RefusesArgumentsBehindOptions) {
  EXPECT_EQ(why_call_is_refused("CALL KEYWORDS('a' x, 't', 'secret')"),
            "CALL: expected AS and the name of an option at offset 24");
  EXPECT_EQ(why_call_is_refused("CALL KEYWORDS('a', 't', 1 AS stats, 'secret')"),
            "CALL: expected AS and the name of an option at offset 44");
}

TEST(Call, RefusesWhatTheHelperForCompletionsMayReadDifferently) {
  const std::string_view cases[] = {
      R"(CALL AUTOCOMPLETE("x", 't', 'autocomplete(' a, ',' secret, ')' b))",
      R"(CALL AUTOCOMPLETE('x', 't', 'autocomplete(' a, ',' secret, ')' b))",
      R"(CALL AUTOCOMPLETE('x', 't', 'it\'s' AS layouts))",
      R"(CALL AUTOCOMPLETE('x\\', 't'))",
      R"(CALL AUTOCOMPLETE('x', /*,secret,*/ 't'))",
      R"(CALL AUTOCOMPLETE('x', 't', 1.5 AS fuzziness))",
      R"(CALL AUTOCOMPLETE('x', 't', ('a') AS layouts))",
      R"(CALL AUTOCOMPLETE('x', 't', secret))",
  };
  for (const auto statement : cases)
    EXPECT_NE(why_call_is_refused(statement).find("CALL AUTOCOMPLETE: write each argument"),
              std::string::npos)
        << statement << ": " << why_call_is_refused(statement);
  for (const auto* read : {"CALL AUTOCOMPLETE('x autocomplete(', 't', 'us,ru' AS layouts)",
                           "CALL AUTOCOMPLETE('it\\'s', 't', '' AS layouts, 1 AS append)"})
    EXPECT_EQ(why_call_is_refused(read), "read");
}

TEST(Call, SaysWhereAStatementIsWrongAndWhatWasExpected) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"CALL", "expected one of PQ, SUGGEST"},
      {"CALL DROP('t')", "at offset 5"},
      {"CALL PQ 't'", "expected ( at offset 8"},
      {"CALL PQ('t'", "expected , or ) at offset 11"},
      {"CALL PQ('t', )", "expected an argument at offset 13"},
      {"CALL PQ('t') x", "expected the end of the statement at offset 13"},
      {"CALL PQ('t'); SELECT 1", "expected the end of the statement"},
      {"CALL PQ('t, -- )", "does not end"},
      {"CALL KEYWORDS('a')", "needs the name of a table as argument 2"},
      {"CALL KEYWORDS('a', t)", "must be a name in quotes"},
      {"CALL KEYWORDS('a', ('t'))", "must be a name in quotes"},
      {"CALL PQ('t', ('a') ('b'))", "expected , or ) at offset 19"},
      {"CALL PQ('t', ('a')('b'))", "expected , or ) at offset 18"},
      {"CALL PQ('t', ('a', ('b')))", "expected ) at offset 19"},
      {"CALL SNIPPETS('d','t','q', 1 AS limit, ('x'))", "AS and the name of an option"},
      {"CALL KEYWORDS('a', 't,u')", "names several tables"},
      {"CALL KEYWORDS('a', 't\\'')", "must be a name in quotes"},
      {"CALL PQ('t', 1 AS 7)", "read"},
  };
  for (const auto& [statement, why] : cases)
    EXPECT_NE(why_call_is_refused(statement).find(why), std::string::npos)
        << statement << ": " << why_call_is_refused(statement);
  for (const std::size_t shards : {1, 2})
    EXPECT_NE(asked_of_shard("CALL SUGGEST('a','t','x' AS limit)", shards).find("must be a number"),
              std::string::npos);
}

TEST(Call, NamesTheMirrorsTableAndAsksForMoreSuggestionsThanWanted) {
  EXPECT_EQ(asked_of_shard("CALL PQ('t', '{}')"), "CALL PQ('it\\'s', '{}')");
  EXPECT_EQ(asked_of_shard("CALL SUGGEST('a', 't')"), "CALL SUGGEST('a', 'it\\'s', 25 AS limit)");
  EXPECT_EQ(
      asked_of_shard("CALL SUGGEST('a', 't', 2 AS limit, 0 AS result_stats, 1 AS result_line)"),
      "CALL SUGGEST('a', 'it\\'s', 10 AS limit, 1 AS result_stats, 0 AS result_line)");
  EXPECT_EQ(asked_of_shard("CALL SUGGEST('a', 't', 2 AS limit)", 1),
            "CALL SUGGEST('a', 'it\\'s', 2 AS limit)");
}

TEST(Call, AddsTheCountsOfKeywordsAndSuggestions) {
  const std::vector<std::string> keywords{"qpos", "tokenized", "normalized", "docs", "hits"};
  EXPECT_EQ(merged_call("CALL KEYWORDS('m* b', 't', 1 AS stats, 'hits' AS sort_mode)",
                        {raw(keywords, {{"1", "m*", "my", "1", "2"}, {"2", "b", "b", "4", "5"}}),
                         raw(keywords, {{"1", "m*", "mammal", "3", "9"},
                                        {"1", "m*", "my", "2", "3"},
                                        {"2", "b", "b", "1", "1"}})}),
            raw(keywords, {{"1", "m*", "mammal", "3", "9"},
                           {"1", "m*", "my", "3", "5"},
                           {"2", "b", "b", "5", "6"}}));
  const std::vector<std::string> suggestions{"suggest", "distance", "docs"};
  const std::vector<std::string> answers{
      raw(suggestions, {{"bag", "1", "3"}, {"bog", "1", "2"}, {"big", "2", "9"}}),
      raw(suggestions, {{"bog", "1", "2"}, {"beg", "1", "1"}})};
  EXPECT_EQ(merged_call("CALL SUGGEST('bagg', 't', 3 AS limit)", answers),
            raw(suggestions, {{"bog", "1", "4"}, {"bag", "1", "3"}, {"beg", "1", "1"}}));
  EXPECT_EQ(merged_call("CALL SUGGEST('bagg', 't', 2 AS limit, 0 AS result_stats)", answers),
            raw({"suggest"}, {{"bog"}, {"bag"}}));
  EXPECT_EQ(
      merged_call("CALL SUGGEST('bagg', 't', 2 AS limit, 1 AS result_line)", answers),
      raw({"name", "value"}, {{"suggests", "bog,bag"}, {"distance", "1,1"}, {"docs", "4,3"}}));
  // A cell that is no scalar stays a text in the line.
  const std::string list =
      R"([{"columns":[{"suggest":{"type":"string"}}],"data":[{"suggest":["a"]}]}])";
  EXPECT_TRUE(merged_call("CALL SUGGEST('bagg', 't', 1 AS result_line)", {list, list})
                  .contains(R"("value":"[\"a\"]")"));
}

TEST(Call, OrdersStoredQueriesByIdAndCompletionsByRank) {
  EXPECT_EQ(merged_call("CALL PQ('t', '{}')", {raw({"id"}, {{"3"}, {"20"}}), raw({"id"}, {{"7"}})}),
            raw({"id"}, {{"3"}, {"7"}, {"20"}}));
  EXPECT_EQ(merged_call("CALL AUTOCOMPLETE('h', 't')", {raw({"query"}, {{"hello"}, {"help"}}),
                                                        raw({"query"}, {{"help"}, {"hi"}})}),
            raw({"query"}, {{"hello"}, {"help"}, {"hi"}}));
}

TEST(Call, AsksOneShardForSnippets) {
  constexpr std::string_view kSnippets = "CALL SNIPPETS('a','t','b')";
  const auto call = sql_reading::read_call(kSnippets);
  ASSERT_TRUE(call);
  const auto plan = plan_call(kSnippets, *call, 3, RowForm::raw);
  ASSERT_TRUE(plan);
  int asked = 0;
  for (std::size_t shard = 0; shard < 3; ++shard) asked += plan->asks(shard) ? 1 : 0;
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(plan->may_be_partial);
}

TEST(Call, CompletionsNeedTheNameThatTheSearchServerReads) {
  const auto parsed = make_manticore_autocomplete({})->parse(
      {"POST", "/autocomplete", "", "application/json", R"({"index":"t","query":"h"})"});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().status, 400);
  EXPECT_EQ(parsed.error().reason, "\"table\" is missing");
}

TEST(Call, WhiteSpaceAroundARequestForCompletionsIsNoPartOfIt) {
  for (const std::size_t size : {1U, 16U, 100U, 5000U})
    for (const std::string_view space : {"", "\n", " \t\r\n"}) {
      const ExactBytes body(
          fmt::format(R"({}{{"query":"{}","table":"t"}}{})", space, std::string(size, 'a'), space));
      const auto parsed = make_manticore_autocomplete({})->parse(
          {"POST", "/autocomplete", "", "application/json", body});
      ASSERT_TRUE(parsed) << parsed.error().reason;
      EXPECT_EQ(parsed->table, "t");
    }
}

TEST(Call, MergesCompletionsInJson) {
  const auto dialect = make_manticore_autocomplete({});
  const ClientRequest request{"POST", "/autocomplete", "", "application/json",
                              R"({"table":"t","query":"h"})"};
  const auto parsed = dialect->parse(request);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->table, "t");
  const auto plan = dialect->plan(request, *parsed, 2);
  const std::string tables[] = {"s"};
  std::string buffer;
  EXPECT_EQ(write_planned(*plan, 0, tables, buffer).body, R"({"table":"s","query":"h"})");
  const auto one = raw({"query"}, {{"hello"}});
  const auto other = raw({"query"}, {{"hi"}});
  const ShardReply replies[] = {{one}, {other}};
  std::string out;
  EXPECT_FALSE(merge(*plan, replies, {}, out));
  EXPECT_EQ(out, raw({"query"}, {{"hello"}, {"hi"}}));
}

}  // namespace
}  // namespace karmad
