// Long statements: what is sent for them has a bound, and they are read a few times, not once for
// each of their parts. A statement of a megabyte, read again for each part, would take many
// minutes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "agent/dialect/request/sql_tokens.hpp"
#include "tests/agent/dialect/sql_reading.hpp"

namespace karmad::long_statements_tests {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

std::string filled(std::string_view part, std::size_t size) {
  std::string all;
  while (all.size() < size) all += part;
  return all;
}

std::string joined(std::string_view part, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += fmt::format(fmt::runtime(part), i);
  return all;
}

struct Sent {
  std::size_t places = 0;  ///< of the table's name
  std::size_t bytes = 0;
  std::string refusal{};
};

Sent sent(std::string_view statement) {
  const auto select = sql_reading::plan_text(statement, RowForm::hits);
  if (!select) return {.refusal = select.error().reason};
  return {.places = select->names.size(), .bytes = select->statements.size()};
}

TEST(LongStatement, IsSplitIntoTokensInOnePass) {
  for (const std::string_view part :
       {"1e5,", "1e ", "1.5", "a ", "a`b`", "'a'", "\"a\"", "/*a*/", "- ", "(", "1.a"}) {
    const auto text = filled(part, kMegabyte);
    sql::Tokens tokens(text);
    std::size_t bytes = 0;
    auto token = tokens.next();
    for (; token.kind != sql::Token::Kind::end && !token.trouble(); token = tokens.next())
      bytes += token.text.size();
    EXPECT_LE(bytes + token.text.size(), text.size()) << part;
  }
}

TEST(LongStatement, IsSentOnceWithoutCountDistinct) {
  for (const std::string_view part : {" and a in (1e5)", " and knn(v,5,(1e5))", " and (a)=1"}) {
    const auto where = "b=1" + filled(part, kMegabyte);
    const auto out = sent("select id from p where " + where);
    EXPECT_EQ(out.refusal, "");
    EXPECT_EQ(out.places, 1U);
    EXPECT_LT(out.bytes, where.size() + 100);
  }
}

TEST(LongStatement, SendsNoMoreThanFewTimesItsListsOfNames) {
  for (const auto& statement :
       {"select id" + joined(",avg(c{0}) as c{0}", 900) + " from p group by a",
        "select id" + joined(",m.c{0}", 900) + " from p facet a" + joined(",m.d{}", 60),
        "select id" + joined(",sum(c{0}) a{0}", 900) + " from p group by k" + joined(",k{}", 63),
        "select id from p" + joined(" facet m.a{0} by b{0}", 256)}) {
    const auto out = sent(statement);
    EXPECT_EQ(out.refusal, "");
    EXPECT_EQ(out.places, 1U);
    EXPECT_LT(out.bytes, statement.size() * 8) << statement.substr(0, 40);
  }
}

TEST(LongStatement, IsRefusedWhereItsPartsAreComparedWithEachOther) {
  const auto keys = [](int count) { return "k" + joined(",k{}", count - 1); };
  EXPECT_EQ(sent("select sum(a) from p group by " + keys(64)).refusal, "");
  EXPECT_TRUE(sent("select sum(a) from p group by " + keys(65)).refusal.contains("than 64 keys"));
  EXPECT_EQ(sent("select id from p facet a by " + keys(64)).refusal, "");
  EXPECT_TRUE(sent("select id from p facet a by " + keys(65)).refusal.contains("than 64 keys"));
  EXPECT_EQ(sent("select id from p facet " + keys(64)).refusal, "");
  EXPECT_TRUE(sent("select id from p facet " + keys(65)).refusal.contains("than 64 keys"));
}

TEST(LongStatement, NestsItsBracketsDeeplyInWhereOnly) {
  const auto nested = [](int depth) { return joined("max(1,", depth) + "1" + joined(")", depth); };
  EXPECT_EQ(sent("select " + nested(256) + " from p").refusal, "");
  EXPECT_TRUE(sent("select " + nested(257) + " from p").refusal.contains("deeper than 256"));
  EXPECT_EQ(sent("select id from p where " + nested(50'000) + " = 1").refusal, "");
}

}  // namespace
}  // namespace karmad::long_statements_tests
