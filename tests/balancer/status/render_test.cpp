#include "balancer/status/rows/render.hpp"

#include <gtest/gtest.h>

#include <array>

namespace karmad {
namespace {

std::string raw(std::initializer_list<ResultSet> sets) {
  std::string out;
  append_raw(out, std::vector<ResultSet>{sets});
  return out;
}

std::string table(const ResultSet& set) {
  std::string out;
  append_text(out, set);
  return out;
}

TEST(AppendRaw, BreaksLinesAsTheSearchServerDoes) {
  const ResultSet set{{"Key", "Value"}, {{"ag_0_errorsarow", "0"}, {"ag_1_errorsarow", "119"}}};
  EXPECT_EQ(raw({set}),
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

TEST(AppendRaw, SeparatesResultSetsAndKeepsEmptyOnes) {
  const ResultSet empty{{"Table"}, {}};
  EXPECT_EQ(raw({empty, empty}),
            "[{\n\"columns\":[{\"Table\":{\"type\":\"string\"}}],\n\"data\":[\n],\n\"total\":0,\n"
            "\"error\":\"\",\n\"warning\":\"\"\n},\n"
            "{\n\"columns\":[{\"Table\":{\"type\":\"string\"}}],\n\"data\":[\n],\n\"total\":0,\n"
            "\"error\":\"\",\n\"warning\":\"\"\n}]");
}

TEST(AppendRaw, EscapesWhatJsonDoesNotAllow) {
  const auto answer = raw({{{"A"}, {{"a\"b\\c\n\x01"}, {"gar\xff\xc3"}, {"gr\xc3\xbc\xc3\x9f"}}}});
  EXPECT_NE(answer.find("{\"A\":\"a\\\"b\\\\c\\n\\u0001\"}"), std::string::npos) << answer;
  EXPECT_NE(answer.find("{\"A\":\"gar\xEF\xBF\xBD\xEF\xBF\xBD\"}"), std::string::npos) << answer;
  EXPECT_NE(answer.find("{\"A\":\"gr\xc3\xbc\xc3\x9f\"}"), std::string::npos) << answer;
}

TEST(AppendText, DrawsATableAndCountsItsRows) {
  const ResultSet set{{"Key", "Value"}, {{"ag_0_ping", "yes"}, {"gr\xc3\xbc\xc3\x9f", "1\t2"}}};
  EXPECT_EQ(table(set),
            "+-----------+-------+\n"
            "| Key       | Value |\n"
            "+-----------+-------+\n"
            "| ag_0_ping | yes   |\n"
            "| gr\xc3\xbc\xc3\x9f      | 1 2   |\n"
            "+-----------+-------+\n"
            "2 rows in set\n");
}

TEST(AppendText, SaysOneRowAndEmptySet) {
  EXPECT_TRUE(table({{"A"}, {{"x"}}}).ends_with("1 row in set\n"));
  EXPECT_EQ(table({{"A"}, {}}), "Empty set\n");
}

}  // namespace
}  // namespace karmad
