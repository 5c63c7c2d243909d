#include <gtest/gtest.h>

#include "agent/dialect/merge/merge_steps.hpp"

namespace karmad {
namespace {

using Rows = RowsMerge::Rows;

std::string plain_merged(Rows rows, const std::vector<std::string>& answers,
                         RowForm form = RowForm::raw, std::string_view warning = {}) {
  std::vector<ShardReply> replies;
  for (const auto& answer : answers) replies.push_back({answer});
  std::string out = "<";
  if (const auto bad = merge_replies(RowsMerge{.rows = rows, .form = form}, replies,
                                     {.warning = warning}, out)) {
    EXPECT_EQ(out, "<");
    return "bad shard " + std::to_string(bad->shard) + ": " + bad->reason;
  }
  return out.substr(1);
}

std::string named_set(std::string_view rows, std::string_view total) {
  return "[{\n\"columns\":[{\"Variable_name\":{\"type\":\"string\"}},{\"Value\":{\"type\":"
         "\"string\"}}"
         "],\n\"data\":[\n" +
         std::string(rows) + "\n],\n\"total\":" + std::string(total) +
         ",\n\"error\":\"\",\n\"warning\":\"\"\n}]";
}

TEST(MergeRows, AddsIntegersOfTheSameNameAndKeepsOtherValuesOfTheFirstShard) {
  const auto one = named_set(
      R"({"Variable_name":"table_type","Value":"rt"},
{"Variable_name":"indexed_documents","Value":"9223372036854775000"},
{"Variable_name":"killed_rate","Value":"0.00%"})",
      "3");
  const auto two = named_set(
      R"({"Variable_name":"indexed_documents","Value":"7"},
{"Variable_name":"killed_rate","Value":"5.00%"},
{"Variable_name":"disk_chunks","Value":"2"})",
      "3");
  EXPECT_EQ(plain_merged(Rows::added, {one, "", two}),
            named_set(R"({"Variable_name":"table_type","Value":"rt"},
{"Variable_name":"indexed_documents","Value":"9223372036854775007"},
{"Variable_name":"killed_rate","Value":"0.00%"},
{"Variable_name":"disk_chunks","Value":"2"})",
                      "4"));
}

TEST(MergeRows, ConcatenatesRowsWithTheColumnsThatAllShardsHave) {
  const std::string one =
      R"([{"columns":[{"TID":{"type":"long"}},{"Name":{"type":"string"}},{"x":{"type":"long"}}],"data":[{"TID":1,"Name":"a","x":3}],"total":1,"error":"","warning":"slow"}])";
  const std::string two =
      R"([{"columns":[{"Name":{"type":"string"}},{"TID":{"type":"long"}}],"data":[{"Name":"b","TID":2}, {"Name":"c","TID":3}],"total":2,"error":"","warning":""}])";
  EXPECT_EQ(plain_merged(Rows::concatenated, {one, two}),
            "[{\n\"columns\":[{\"TID\":{\"type\":\"long\"}},{\"Name\":{\"type\":\"string\"}}],\n"
            "\"data\":[\n{\"TID\":1,\"Name\":\"a\"},\n{\"TID\":2,\"Name\":\"b\"},\n"
            "{\"TID\":3,\"Name\":\"c\"}\n],\n\"total\":3,\n\"error\":\"\",\n"
            "\"warning\":\"shard 1: slow\"\n}]");
  EXPECT_EQ(plain_merged(Rows::concatenated, {two, two}, RowForm::text, "shard 3 is missing"),
            "+------+-----+\n| Name | TID |\n+------+-----+\n| b    | 2   |\n| c    | 3   |\n"
            "| b    | 2   |\n| c    | 3   |\n+------+-----+\n4 rows in set\n"
            "Warning: shard 3 is missing\n");
}

TEST(MergeRows, RefusesRepliesThatAreNoResultSet) {
  const auto good = named_set(R"({"Variable_name":"a","Value":"1"})", "1");
  EXPECT_EQ(plain_merged(Rows::added, {good, good.substr(0, good.size() - 1)}),
            "bad shard 1: it does not end as a JSON array");
  EXPECT_EQ(plain_merged(Rows::added, {good, named_set(R"({"Value":"1"})", "1")}),
            "bad shard 1: a row is malformed");
  EXPECT_EQ(plain_merged(Rows::added, {R"([{"total":0,"error":"no such table"}])"}),
            "bad shard 0: no such table");
  EXPECT_EQ(plain_merged(Rows::added, {"[]", good}),
            "bad shard 0: it is not an array of the result sets that were requested");
}

}  // namespace
}  // namespace karmad
