#include "balancer/mysql/results.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace karmad {
namespace {

/// The payloads of all packets in `bytes`, whose numbers must follow each other.
std::vector<std::string> payloads(std::string bytes, std::uint8_t sequence = 1) {
  std::vector<std::string> all;
  while (!bytes.empty()) {
    const auto framing = frame_mysql(bytes, sequence, bytes.size());
    EXPECT_EQ(framing.state, MysqlFraming::State::complete);
    if (framing.state != MysqlFraming::State::complete) break;
    sequence = framing.sequence;
    all.emplace_back(join_mysql(bytes, framing));
    bytes.erase(0, framing.size - (framing.packets - 1) * kMysqlHeader);
  }
  return all;
}

std::vector<std::string> packets_of(std::string_view json, MysqlResults::Options options = {},
                                    std::size_t piece = 1) {
  std::string out;
  std::string all;
  MysqlWriter packets(out, 1);
  MysqlResults results(json, options);
  for (bool more = true; more;) {
    more = results.next(packets, piece);
    all += std::exchange(out, {});
  }
  return payloads(all);
}

using namespace std::string_literals;
const std::string kEof = "\xfe\0\0\2\0"s;

TEST(MysqlResults, WriteRowsAsTexts) {
  const auto sent = packets_of(R"([{
"columns":[{"id":{"type":"long long"}},{"t\u00e4g":{"type":"string"}},{"f":{"type":"float"}}],
"data":[
{"id":1,"t\u00e4g":"a\"\u00e4","f":1.450000},
{"f":null,"t\u00e4g":"","id":-2}
],
"total":2,"error":"","warning":""}])");
  ASSERT_EQ(sent.size(), 8U);
  EXPECT_EQ(sent[0], "\3");
  EXPECT_NE(sent[2].find("t\xc3\xa4g"), std::string::npos);
  EXPECT_EQ(sent[4], kEof);
  EXPECT_EQ(sent[5],
            "\1"
            "1\4"
            "a\"\xc3\xa4\10"
            "1.450000"s);
  EXPECT_EQ(sent[6],
            "\2"
            "-2\0\xfb"s);
  EXPECT_EQ(sent[7], kEof);
}

TEST(MysqlResults, WriteRowsInBinaryFormForPreparedStatements) {
  const auto sent = packets_of(
      R"([{"columns":[{"i":{"type":"long"}},{"u":{"type":"long long"}},{"d":{"type":"double"}},
{"s":{"type":"string"}},{"odd":{"type":"long"}}],
"data":[{"i":-1,"u":18446744073709551615,"d":0.5,"s":"x","odd":"n/a"},{"i":null,"u":2}],"total":2}])",
      {.form = MysqlForm::binary, .capabilities = mysql_capability::kDeprecateEof});
  ASSERT_EQ(sent.size(), 9U);
  EXPECT_EQ(sent[6], "\0\0"s + std::string(8, '\xff') + std::string(8, '\xff') +
                         std::string(6, '\0') + "\xe0\x3f\1x\3n/a");
  EXPECT_EQ(sent[7], "\0\x74\2"s + std::string(7, '\0'));
  EXPECT_EQ(sent[8], "\xfe\0\0\2\0\0\0"s);  // an OK that ends the rows
}

TEST(MysqlResults, WithoutColumnsAreAnOkWithTheNumberOfChangedRows) {
  const auto sent = packets_of(R"([{"total":3,"error":"","warning":"w"}])");
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0], "\0\3\0\2\0\1\0"s);
  const auto with_id = packets_of(R"([{"total":3,"error":"","warning":""}])",
                                  {.last_insert_id = 0x0102030405060708});
  ASSERT_EQ(with_id.size(), 1U);
  EXPECT_EQ(with_id[0], "\0\3\xfe\x08\x07\x06\x05\x04\x03\x02\x01\2\0\0\0"s);
}

TEST(MysqlResults, OfSeveralStatementsSayThatMoreFollow) {
  const auto sent =
      packets_of(R"([{"total":1,"error":"","warning":""},{"total":2}])", {.more = MysqlMore::yes});
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0], "\0\1\0\xa\0\0\0"s);
  EXPECT_EQ(sent[1], "\0\2\0\xa\0\0\0"s);
}

TEST(MysqlResults, EndWithTheErrorOfAStatement) {
  const auto sent = packets_of(
      R"([{"total":1,"error":"","warning":""},{"total":0,"error":"P01: syntax error","warning":""},{"total":1}])");
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[1], "\xff\x28\x04#42000P01: syntax error"s);
}

TEST(MysqlError, HasTheCodeThatClientsKnow) {
  EXPECT_EQ(mysql_error(500, "unknown local table(s) 'nope' in search request").code, 1146);
  EXPECT_EQ(mysql_error(500, "P01: syntax error, unexpected '('").code, 1064);
  EXPECT_EQ(mysql_error(429, "all tickets are taken").code, 1040);
  EXPECT_EQ(mysql_error(504, "late").code, 3024);
  EXPECT_EQ(mysql_error(502, "anything").code, 1105);
  EXPECT_EQ(reason_in_answer(R"({"error":"text \"x\""})"), "text \"x\"");
  EXPECT_EQ(reason_in_answer(R"({"error":{"type":"overloaded","reason":"busy"},"status":429})"),
            "busy");
  EXPECT_EQ(
      reason_in_answer(R"( [{"total":2,"error":"","warning":""},{"total":0,"error":"full"}])"),
      "full");
  for (const char* none : {"", "[", "[]", "[7]", R"([{"error":""}])", "<html>"})
    EXPECT_EQ(reason_in_answer(none), "the statement failed without a reason") << none;
}

// Answers of mirrors and packets of clients are hostile: no byte of them may lead outside.
TEST(MysqlResults, SurviveAnyChangedByte) {
  const std::string json =
      R"([{"columns":[{"i":{"type":"long"}},{"s":{"type":"string"}}],"data":[{"i":-1,"s":"\u00e4"},{"i":2}],"total":2,"error":"","warning":"w"},{"total":1}])";
  std::minstd_rand random(20);
  for (int round = 0; round < 20'000; ++round) {
    auto changed = json;
    for (auto changes = random() % 3 + 1; changes > 0; --changes)
      changed[random() % changed.size()] = static_cast<char>(random());
    if (random() % 4 == 0) changed.resize(random() % changed.size());
    const auto form = round % 2 == 0 ? MysqlForm::text : MysqlForm::binary;
    EXPECT_FALSE(packets_of(changed, {.form = form}, 1 + random() % 100).empty());
  }
}

}  // namespace
}  // namespace karmad
