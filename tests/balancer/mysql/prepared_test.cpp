#include "balancer/mysql/session_state.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "agent/dialect/request/sql_tokens.hpp"

namespace karmad::mysql {
namespace {

using namespace std::string_literals;

std::string length_and(std::string_view text) {
  std::string out;
  Writer(out).text(text);
  return out;
}

/// What follows the number of the statement: no NULLs, then types and values.
std::string execution(std::size_t count, std::string_view types, std::string_view values) {
  return "\0\1\0\0\0"s + std::string((count + 7) / 8, '\0') + "\1" + std::string(types) +
         std::string(values);
}

std::string bound(std::string_view statement, std::string_view payload) {
  auto prepared = prepare_statement(statement);
  if (!prepared) return prepared.error().text;
  auto text = bind_values(*prepared, payload, 1000);
  return text ? *text : text.error().text;
}

std::string with_text(std::string_view statement, std::string_view value) {
  return bound(statement, execution(1, "\xfd\0"s, length_and(value)));
}

TEST(MysqlPrepare, FindsParametersOutsideOfQuotesAndComments) {
  const auto prepared =
      prepare_statement("SELECT '?' /* ? */ FROM t WHERE a=? AND `b?`=\"?\" LIMIT ?,?;");
  ASSERT_TRUE(prepared);
  EXPECT_EQ(prepared->places.size(), 3U);
  EXPECT_TRUE(prepared->text.ends_with("?,?"));
  const auto among_empty_ones = prepare_statement(" ;SELECT ?;;");
  ASSERT_TRUE(among_empty_ones);
  EXPECT_EQ(among_empty_ones->text, "SELECT ?");
  EXPECT_EQ(among_empty_ones->places, std::vector<std::size_t>{7});
  EXPECT_FALSE(prepare_statement("SELECT '?"));
  EXPECT_FALSE(prepare_statement("SELECT 1 -- ?"));
  EXPECT_FALSE(prepare_statement("SELECT 1; SELECT 2"));
  EXPECT_EQ(prepare_statement("SELECT 'd\xfc', ?").error().code, 1300);
}

TEST(MysqlBind, WritesNumbersOfRowsWithoutQuotes) {
  EXPECT_EQ(with_text("SELECT id FROM t LIMIT ?", "7"), "SELECT id FROM t LIMIT  7 ");
  EXPECT_EQ(with_text("SELECT id FROM t LIMIT 4, ?", "12"), "SELECT id FROM t LIMIT 4,  12 ");
  EXPECT_EQ(with_text("SELECT id FROM t LIMIT 4 Offset\n?", "0"),
            "SELECT id FROM t LIMIT 4 Offset\n 0 ");
  EXPECT_EQ(with_text("SELECT id FROM t LIMIT ?", "7x"), "SELECT id FROM t LIMIT  '7x' ");
  EXPECT_EQ(with_text("SELECT id FROM t LIMIT ?", ""), "SELECT id FROM t LIMIT  '' ");
  EXPECT_EQ(with_text("SELECT id FROM t WHERE a=?", "7"), "SELECT id FROM t WHERE a= '7' ");
}

TEST(MysqlPrepare, NeedsAStatementAndKeepsNoMoreThanItsText) {
  for (const char* none : {"", " ; ", "/* c */", "/* c */;"}) {
    const auto prepared = prepare_statement(none);
    ASSERT_FALSE(prepared) << none;
    EXPECT_EQ(prepared.error().code, 1065) << none;
  }
  const auto prepared = prepare_statement("SELECT ?; /*" + std::string(100'000, 'c') + "*/");
  ASSERT_TRUE(prepared);
  EXPECT_EQ(prepared->text, "SELECT ?");
  EXPECT_LT(prepared->text.capacity(), 100U);
  EXPECT_GE(prepared->size(), sizeof(PreparedStatement) + prepared->text.size());
}

TEST(MysqlBind, WritesNumbersAsTheyAre) {
  EXPECT_EQ(bound("a ? b", execution(1, "\1\0"s, "\xff")), "a  -1  b");
  EXPECT_EQ(bound("a ? b", execution(1, "\1\x80"s, "\xff")), "a  255  b");
  EXPECT_EQ(bound("?", execution(1, "\10\0"s, std::string(8, '\xff'))), " -1 ");
  EXPECT_EQ(bound("?", execution(1, "\10\x80"s, std::string(8, '\xff'))), " 18446744073709551615 ");
  const auto real = [](double value) {
    std::string bytes;
    Writer(bytes).integer(std::bit_cast<std::uint64_t>(value), 8);
    return bound("?", execution(1, "\5\0"s, bytes));
  };
  EXPECT_EQ(real(10), " 10 ");  // as clients in JavaScript send a LIMIT
  EXPECT_EQ(real(1e15), " 1000000000000000 ");
  EXPECT_EQ(real(0.25), " 0.25 ");
  EXPECT_EQ(real(std::numeric_limits<double>::infinity()),
            "parameter 1: it is not a finite number");
  EXPECT_EQ(bound("?", execution(1, "\xc\0"s, "\7\xe8\7\2\x1d\1\2\3"s)), " '2024-02-29 01:02:03' ");
}

TEST(MysqlBind, WritesDecimalsAsNumbers) {
  for (const auto* type : {"\xf6", "\0"}) {
    const auto decimal = [&](std::string_view text) {
      return bound("?", execution(1, type[0] + "\0"s, length_and(text)));
    };
    for (const auto* number : {"1.50", "-12", "0.000000000000000001", ".5"})
      EXPECT_EQ(decimal(number), ' ' + std::string(number) + ' ');
    EXPECT_EQ(decimal("+7"), " 7 ");
    for (const auto* no : {"", ".", "1.2.3", "--1", "1 OR 1=1", "1e5", "'1'"})
      EXPECT_EQ(decimal(no), "parameter 1: it is not a decimal number") << no;
  }
}

TEST(MysqlBind, KeepsTheTypesOfAnEarlierExecution) {
  auto prepared = prepare_statement("?");
  ASSERT_TRUE(prepared);
  EXPECT_FALSE(bind_values(*prepared, "\0\1\0\0\0\0\0\5"s, 100));
  EXPECT_TRUE(bind_values(*prepared, execution(1, "\1\0"s, "\3"), 100));
  EXPECT_EQ(bind_values(*prepared, "\0\1\0\0\0\0\0\5"s, 100).value_or(""), " 5 ");
  EXPECT_EQ(bind_values(*prepared, "\0\1\0\0\0\1\0"s, 100).value_or(""), " NULL ");
}

TEST(MysqlBind, RefusesLongDataForOneExecution) {
  auto prepared = prepare_statement("?");
  ASSERT_TRUE(prepared);
  prepared->got_long_data = true;
  EXPECT_FALSE(bind_values(*prepared, execution(1, "\1\0"s, "\3"), 100));
  EXPECT_TRUE(bind_values(*prepared, execution(1, "\1\0"s, "\3"), 100));
}

TEST(MysqlBind, RefusesWhatItCannotWrite) {
  EXPECT_EQ(with_text("?", "a\0b"s), "parameter 1: it holds a zero byte");
  for (const auto* text : {"caf\xe9", "\xed\xa0\x80", "\xc3"})
    EXPECT_EQ(with_text("?", text), "parameter 1: it is not valid UTF-8") << text;
  EXPECT_EQ(with_text("?", "café"), " 'café' ");
  EXPECT_EQ(bound("?", execution(1, "\xb\0"s, "\0"s)), "parameter 1: its type 11 is not supported");
  EXPECT_EQ(with_text("?", std::string(1000, 'x')),
            "with its parameters the statement is longer than max_packet_size");
  EXPECT_EQ(bound("?", execution(1, "\xfd\0"s, "\xfe")), "parameter 1 cannot be read");
}

// Injection: whatever the value, the statement has the same tokens, and the value is one of them.
TEST(MysqlBind, MakesOneTokenOfAnyText) {
  EXPECT_EQ(with_text("a=?", "x' OR '1'='1"), "a= 'x\\' OR \\'1\\'=\\'1' ");
  EXPECT_EQ(with_text("a=?", "\\"), "a= '\\\\' ");
  std::minstd_rand random(9);
  constexpr std::string_view bytes("'\"\\`;?-#/*\n\r x\x7f", 15);
  for (int round = 0; round < 5'000; ++round) {
    std::string value(random() % 12, ' ');
    for (auto& byte : value) byte = bytes[random() % bytes.size()];
    const auto text = with_text("a='b'? c", value);
    sql::Tokens tokens(text);
    std::string kinds;
    for (auto token = tokens.next(); token.kind != sql::Token::Kind::end; token = tokens.next())
      kinds += static_cast<char>('0' + static_cast<int>(token.kind));
    EXPECT_EQ(kinds, "14221") << text;
  }
}

TEST(MysqlBind, SurvivesAnyBytes) {
  std::minstd_rand random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::string payload(random() % 40, '\0');
    for (auto& byte : payload) byte = static_cast<char>(random());
    if (payload.size() > 6) payload[6] = 1;
    bound("? ?", payload);
    Fields fields(payload);
    read_handshake(payload);
  }
}

}  // namespace
}  // namespace karmad::mysql
