#include "agent/dialect/write/write_rows.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace karmad {
namespace {

using TextRows = std::vector<std::vector<std::string_view>>;

ResultSet set_of(std::initializer_list<std::string_view> columns, const TextRows& rows) {
  auto set = text_rows(columns);
  for (const auto& row : rows) set.add_row(row);
  return set;
}

std::string raw(const std::vector<ResultSet>& sets) {
  std::string out;
  append_sets(RowForm::raw, sets, out);
  return out;
}

std::string raw(ResultSet set) {
  std::vector<ResultSet> sets;
  sets.push_back(std::move(set));
  return raw(sets);
}

std::string table(const ResultSet& set) {
  std::string out;
  append_sets(RowForm::text, {&set, 1}, out);
  return out;
}

TEST(WriteRows, BreaksLinesAsTheSearchServerDoes) {
  EXPECT_EQ(raw(set_of({"Key", "Value"}, {{"ag_0_errorsarow", "0"}, {"ag_1_errorsarow", "119"}})),
            "[{\n"
            "\"columns\":[{\"Key\":{\"type\":\"string\"}},{\"Value\":{\"type\":\"string\"}}],\n"
            "\"data\":[\n"
            "{\"Key\":\"ag_0_errorsarow\",\"Value\":\"0\"},\n"
            "{\"Key\":\"ag_1_errorsarow\",\"Value\":\"119\"}\n"
            "],\n"
            "\"total\":2,\n"
            "\"error\":\"\",\n"
            "\"warning\":\"\"\n"
            "}]");
}

TEST(WriteRows, SeparatesResultSetsAndKeepsEmptyOnes) {
  std::vector<ResultSet> sets(2);
  for (auto& set : sets) set = text_rows({"Table"});
  EXPECT_EQ(raw(sets),
            "[{\n\"columns\":[{\"Table\":{\"type\":\"string\"}}],\n\"data\":[\n],\n\"total\":0,\n"
            "\"error\":\"\",\n\"warning\":\"\"\n},\n"
            "{\n\"columns\":[{\"Table\":{\"type\":\"string\"}}],\n\"data\":[\n],\n\"total\":0,\n"
            "\"error\":\"\",\n\"warning\":\"\"\n}]");
}

TEST(WriteRows, EscapesWhatJsonDoesNotAllow) {
  const auto answer =
      raw(set_of({"A"}, {{"a\"b\\c\n\x01"}, {"gar\xff\xc3"}, {"gr\xc3\xbc\xc3\x9f"}}));
  EXPECT_NE(answer.find("{\"A\":\"a\\\"b\\\\c\\n\\u0001\"}"), std::string::npos) << answer;
  EXPECT_NE(answer.find("{\"A\":\"gar\xEF\xBF\xBD\xEF\xBF\xBD\"}"), std::string::npos) << answer;
  EXPECT_NE(answer.find("{\"A\":\"gr\xc3\xbc\xc3\x9f\"}"), std::string::npos) << answer;
}

TEST(WriteTables, DrawsATableAndCountsItsRows) {
  EXPECT_EQ(table(set_of({"Key", "Value"}, {{"ag_0_ping", "yes"}, {"gr\xc3\xbc\xc3\x9f", "1\t2"}})),
            "+-----------+-------+\n"
            "| Key       | Value |\n"
            "+-----------+-------+\n"
            "| ag_0_ping | yes   |\n"
            "| gr\xc3\xbc\xc3\x9f      | 1 2   |\n"
            "+-----------+-------+\n"
            "2 rows in set\n");
}

TEST(WriteTables, SaysOneRowAndEmptySet) {
  EXPECT_TRUE(table(set_of({"A"}, {{"x"}})).ends_with("1 row in set\n"));
  EXPECT_EQ(table(text_rows({"A"})), "Empty set\n");
}

}  // namespace
}  // namespace karmad
