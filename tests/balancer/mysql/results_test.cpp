#include "balancer/mysql/results.hpp"
#include "agent/dialect/merge/merge_steps.hpp"
#include "balancer/core/refusal.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace karmad::mysql {
namespace {

/// The payloads of all packets in `bytes`, whose numbers must follow each other.
std::vector<std::string> payloads(std::string bytes, std::uint8_t sequence = 1) {
  std::vector<std::string> all;
  while (!bytes.empty()) {
    const auto framing = frame_packets(bytes, sequence, bytes.size());
    EXPECT_EQ(framing.state, Framing::State::complete);
    if (framing.state != Framing::State::complete) break;
    sequence = framing.sequence;
    all.emplace_back(join_packets(bytes, framing));
    bytes.erase(0, framing.size - (framing.packets - 1) * kPacketHeader);
  }
  return all;
}

std::vector<std::string> packets_of(std::string_view json, Results::Options options = {},
                                    std::size_t piece = 1) {
  std::string out;
  std::string all;
  Writer packets(out, 1);
  Results results(json, options);
  for (bool more = true; more;) {
    more = results.next(packets, piece);
    all += std::exchange(out, {});
  }
  return payloads(all);
}

using namespace std::string_literals;
const std::string kEof = "\xfe\0\0\2\0"s;

TEST(Results, WriteRowsAsTexts) {
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

TEST(Results, WriteRowsInBinaryFormForPreparedStatements) {
  const auto sent = packets_of(
      R"([{"columns":[{"i":{"type":"long"}},{"u":{"type":"long long"}},{"d":{"type":"double"}},
{"s":{"type":"string"}},{"odd":{"type":"long"}}],
"data":[{"i":-1,"u":18446744073709551615,"d":0.5,"s":"x","odd":"n/a"},{"i":null,"u":2}],"total":2}])",
      {.form = Form::binary, .capabilities = capability::kDeprecateEof});
  ASSERT_EQ(sent.size(), 9U);
  EXPECT_EQ(sent[6], "\0\x40"s + std::string(8, '\xff') + std::string(8, '\xff') +
                         std::string(6, '\0') + "\xe0\x3f\1x");
  EXPECT_EQ(sent[7], "\0\x74\2"s + std::string(7, '\0'));
  EXPECT_EQ(sent[8], "\xfe\0\0\2\0\0\0"s);  // an OK that ends the rows
}

TEST(Results, EndWithAnErrorBehindTheRowThatIsBeingWritten) {
  const std::string piece(100, 'x');
  const auto answer =
      R"([{"columns":[{"s":{"type":"string"}}],"data":[{"s":"a"},{"s":")" + piece +
      R"("},{"s":"c"}],"total":3},{"columns":[{"s":{"type":"string"}}],"data":[]}])";
  // Interrupted after so many pieces of one byte or more: the rows that have begun are whole.
  std::size_t most = 0;
  for (std::size_t before = 0; before < 200; ++before) {
    std::string out;
    std::string all;
    Writer packets(out, 1);
    Results results(answer, {});
    std::size_t done = 0;
    for (bool more = true; more;) {
      if (done++ >= before) results.interrupt({1317, "70100", "interrupted"});
      more = results.next(packets, 1);
      all += std::exchange(out, {});
    }
    const auto sent = payloads(all);
    ASSERT_FALSE(sent.empty());
    most = std::max(most, sent.size());
    if (results.error() == nullptr) {  // all was written before
      EXPECT_EQ(sent.back(), kEof);
      continue;
    }
    EXPECT_EQ(sent.back(), "\xff\x25\5#70100interrupted");
    const std::vector<std::string> rows{"\1a", static_cast<char>(100) + piece, "\1c"};
    for (std::size_t i = 3; i + 1 < std::min<std::size_t>(sent.size(), 6); ++i)
      EXPECT_EQ(sent[i], rows[i - 3]) << before;
  }
  EXPECT_EQ(most, 11U);
}

// The second packet of the row begins within a text.
TEST(Results, WriteLongRowsInPieces) {
  const std::string plain(kLongestPacket + 5, 'x');
  std::string umlauts;
  std::string escaped;
  for (int i = 0; i < 100'000; ++i) {
    umlauts += "\xc3\xa4";
    escaped += R"(\u00e4)";
  }
  const auto answer = R"([{"columns":[{"s":{"type":"string"}},{"u":{"type":"string"}},)"
                      R"({"n":{"type":"long long"}},{"e":{"type":"string"}}],"data":[{"s":")" +
                      plain + R"(","u":")" + escaped + R"(","n":7}]}])";
  const auto texts = "\xfe\4\0\0\1\0\0\0\0"s + plain + "\xfd\x40\x0d\x03" + umlauts;
  const auto text = packets_of(answer, {}, 100'000);
  ASSERT_EQ(text.size(), 8U);
  EXPECT_TRUE(text[6] == texts + "\0017\xfb"s);
  const auto binary = packets_of(answer, {.form = Form::binary}, 40'000'000);
  ASSERT_EQ(binary.size(), 8U);
  EXPECT_TRUE(binary[6] == "\0\x20"s + texts + "\7"s + std::string(7, '\0'));
  std::string out;
  Writer packets(out);
  Results results(answer, {});
  for (bool more = true; more; out.clear()) {
    more = results.next(packets, 10'000);
    EXPECT_LE(out.size(), 10'100U);
  }
}

// Servers write these words although JSON does not have them.
TEST(Results, WriteInfinitiesAsNull) {
  constexpr std::string_view kAnswer =
      R"([{"columns":[{"id":{"type":"long long"}},{"y":{"type":"float"}},{"z":{"type":"double"}},
{"s":{"type":"string"}}],
"data":[{"id":3,"y":inf,"z":-inf,"s":"inf"},{"id":4,"y":nan,"z":-nan,"s":"a, nan"},
{"id":5,"y":0.5,"z":1.5,"s":""}],"total":3,"error":"","warning":""}])";
  const auto text = packets_of(kAnswer);
  ASSERT_EQ(text.size(), 10U);
  EXPECT_EQ(text[6],
            "\1"
            "3\xfb\xfb\3inf"s);
  EXPECT_EQ(text[7],
            "\1"
            "4\xfb\xfb\6a, nan"s);
  EXPECT_EQ(text[8],
            "\1"
            "5\3"
            "0.5\3"
            "1.5\0"s);
  const auto binary = packets_of(kAnswer, {.form = Form::binary});
  ASSERT_EQ(binary.size(), 10U);
  const auto number = [](char n) { return n + std::string(7, '\0'); };
  EXPECT_EQ(binary[6], "\0\x18"s + number(3) + "\3inf");
  EXPECT_EQ(binary[7], "\0\x18"s + number(4) + "\6a, nan");
  EXPECT_EQ(binary[8], "\0\0"s + number(5) + "\0\0\0\x3f"s + std::string(6, '\0') + "\xf8\x3f\0"s);
}

TEST(Results, WithoutColumnsAreAnOkWithTheNumberOfChangedRows) {
  const auto sent = packets_of(R"([{"total":3,"error":"","warning":"w"}])");
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0], "\0\3\0\2\0\1\0"s);
  const auto with_id = packets_of(R"([{"total":3,"error":"","warning":""}])",
                                  {.last_insert_id = 0x0102030405060708});
  ASSERT_EQ(with_id.size(), 1U);
  EXPECT_EQ(with_id[0], "\0\3\xfe\x08\x07\x06\x05\x04\x03\x02\x01\2\0\0\0"s);
}

/// A column as its packet describes it: charset, length, type (`U` behind an unsigned one),
/// decimals.
std::string described(const std::string& packet) {
  Fields fields(std::string_view(packet).substr(packet.size() - 12));
  const auto charset = fields.integer(2);
  const auto length = fields.integer(4);
  const auto type = fields.integer(1);
  const bool is_unsigned = fields.integer(2) == 32;
  return std::to_string(charset) + " " + std::to_string(length) + " " + std::to_string(type) +
         (is_unsigned ? "U " : " ") + std::to_string(fields.integer(1));
}

/// The packets of the rows `[{"n":value},…]`.
std::vector<std::string> packets_of_column(std::string_view type,
                                           const std::vector<std::string>& values, Form form) {
  std::string json = R"([{"columns":[{"n":{"type":")" + std::string(type) + R"("}}],"data":[)";
  for (const auto& value : values) {
    if (json.back() == '}') json += ',';
    json.append(R"({"n":)").append(value).append("}");
  }
  return packets_of(json + R"(],"total":1}])", {.form = form});
}

// As a server with the tables of the engine describes them: types by their names alone, whatever
// the values of a shard are, and without rows too.
TEST(Results, HaveTheTypesThatTheEngineNames) {
  const struct {
    const char* type;
    const char* as_text;
    const char* binary;
  } cases[] = {
      {"long long", "33 20 8 0", "33 20 8 0"},   {"long", "33 11 3U 0", "33 20 8 0"},
      {"uint", "33 11 3U 0", "33 20 8 0"},       {"timestamp", "33 11 3U 0", "33 20 8 0"},
      {"bool", "33 11 3U 0", "33 20 8 0"},       {"float", "33 20 4 0", "33 20 4 31"},
      {"double", "33 20 5 0", "33 20 5 31"},     {"string", "33 255 254 0", "33 255 254 0"},
      {"multi", "33 255 254 0", "33 255 254 0"}, {"json", "33 255 254 0", "33 255 254 0"},
      {"decimal", "33 20 246 0", "33 20 246 0"}, {"new one", "33 255 254 0", "33 255 254 0"},
  };
  const std::vector<std::vector<std::string>> values{{},
                                                     {"1"},
                                                     {"-1", "2147483647"},
                                                     {"3000000000", "null"},
                                                     {"1", "9223372036854775808"},
                                                     {"18446744073709551616", R"("n/a")", "0.5"}};
  for (const auto& c : cases)
    for (const auto& of_column : values) {
      const auto text = packets_of_column(c.type, of_column, Form::text);
      const auto binary = packets_of_column(c.type, of_column, Form::binary);
      ASSERT_EQ(text.size(), of_column.size() + 4);
      EXPECT_EQ(described(text[1]), c.as_text) << c.type;
      EXPECT_EQ(described(binary[1]), c.binary) << c.type;
    }
}

TEST(Results, HaveValuesThatDoNotFitTheirTypeAsTexts) {
  for (const auto* type : {"long", "long long", "float"})
    for (const std::string value : {"-1", "3000000000", "18446744073709551616", "n/a"})
      EXPECT_EQ(packets_of_column(type, {'"' + value + '"'}, Form::text)[3],
                static_cast<char>(value.size()) + value)
          << type;
}

TEST(Results, HaveValuesThatAreNoNumbersAsNullInBinaryForm) {
  const auto sent = [](const char* type, const char* value) {
    return packets_of_column(type, {value}, Form::binary)[3];
  };
  const auto number = [](std::uint64_t value) {
    std::string bytes(2, '\0');
    Writer(bytes).integer(value, 8);
    return bytes;
  };
  const auto null = "\0\4"s;
  EXPECT_EQ(sent("long", "-1"), number(0xffffffffffffffff));
  EXPECT_EQ(sent("long", "3000000000"), number(3000000000));
  EXPECT_EQ(sent("bool", "true"), number(1));
  EXPECT_EQ(sent("long long", "9223372036854775808"), number(std::uint64_t{1} << 63));
  EXPECT_EQ(sent("long long", "18446744073709551616"), null);
  EXPECT_EQ(sent("long", "0.5"), null);
  EXPECT_EQ(sent("long", R"("n/a")"), null);
  EXPECT_EQ(sent("double", R"("n/a")"), null);
  EXPECT_EQ(sent("float", "null"), null);
}

std::vector<std::string> packets_of_sets(std::vector<ResultSet> sets, Form form) {
  std::string out;
  Writer packets(out, 1);
  Results results(std::move(sets), {.form = form});
  EXPECT_FALSE(results.next(packets, std::string::npos));
  return payloads(out);
}

// karmad's rows reach the packets without JSON in between.
TEST(Results, OfKarmadAreWrittenAsThoseOfAMirror) {
  for (const auto form : {Form::text, Form::binary}) {
    std::vector<ResultSet> sets(2);
    sets[0].add_column("a \"name\"");
    sets[0].add_column("n", "long long");
    sets[0].add_row({"tw\xc3\xb6\n\"lines\"", "900719925474099301"});
    sets[0].add_row({"", "no number"});
    sets[0].warning = "w";
    const auto read = packets_of(
        R"([{"columns":[{"a \"name\"":{"type":"string"}},{"n":{"type":"long long"}}],"data":[)"
        R"({"a \"name\"":"tw\u00f6\n\"lines\"","n":900719925474099301},)"
        R"({"a \"name\"":"","n":"no number"}],"warning":"w"},{"total":0}])",
        {.form = form});
    EXPECT_EQ(packets_of_sets(std::move(sets), form), read);
  }
}

TEST(Results, OfSeveralShardsAreTheSameFromRowsAndFromTheirText) {
  const auto reply = [](const std::string& rows) {
    return R"([{"columns":[{"id":{"type":"long long"}},{"p":{"type":"float"}},)"
           R"({"karmad_0":{"type":"long"}}],"data":[)" +
           rows +
           R"(],"warning":""},{"columns":[{"Variable_name":{"type":"string"}},)"
           R"({"Value":{"type":"string"}}],"data":[{"Variable_name":"total_found","Value":"2"}]}])";
  };
  const auto one =
      reply(R"({"id":1,"p":1.5,"karmad_0":3000000000},{"id":4,"p":1e999,"karmad_0":1})");
  const auto two = reply(R"({"id":3,"p":0.5,"karmad_0":2})");
  const std::vector<ShardReply> replies{{one}, {two}};
  SelectPlan plan;
  plan.rows.order = {{.column = {0, true}, .descending = true}};
  plan.rows.id = ColumnAt{0};
  plan.rows.hidden = 1;
  plan.rows.hidden_names = {"karmad_0"};
  std::string text;
  ASSERT_FALSE(merge_replies(plan, replies, {.warning = "w"}, text));
  for (const auto form : {Form::text, Form::binary}) {
    std::vector<ResultSet> sets;
    std::string unused;
    ASSERT_FALSE(merge_replies(plan, replies, {.warning = "w", .sets = &sets}, unused));
    EXPECT_EQ(unused, "");
    const auto sent = packets_of_sets(std::move(sets), form);
    EXPECT_EQ(sent, packets_of(text, {.form = form}));
    EXPECT_EQ(sent.size(), 8U);
  }
}

TEST(Results, ThatDoNotFitTheStatementAreAnError) {
  constexpr std::string_view kRows = R"([{"columns":[{"i":{"type":"long"}}],"data":[],"total":0}])";
  constexpr std::string_view kCount = R"([{"total":1,"error":"","warning":""}])";
  const struct {
    std::string_view json;
    bool of_rows;
    bool of_count;
    bool of_any;
  } cases[] = {{kRows, true, false, true},
               {kCount, false, true, true},
               {"{}", false, false, false},
               {"[{}]", false, false, false},
               {R"({"hits":"plenty"})", false, false, false},
               {R"([{"total":"many"}])", false, false, false},
               {R"([{"columns":[],"data":[],"total":0}])", false, false, false}};
  for (const auto& c : cases) {
    using enum ResultKind;
    for (const auto& [kind, readable] :
         {std::pair{rows, c.of_rows}, std::pair{count, c.of_count}, std::pair{any, c.of_any}}) {
      const auto sent = packets_of(c.json, {.kind = kind});
      ASSERT_FALSE(sent.empty());
      EXPECT_EQ(sent[0].starts_with("\xff\x51\x04#HY000"), !readable) << c.json;
      EXPECT_EQ(sent[0].find("cannot be read") != std::string::npos, !readable) << c.json;
    }
  }
}

TEST(Results, OfOneStatementAllHaveItsWarning) {
  const auto sent = packets_of(R"([{"columns":[{"i":{"type":"string"}}],"data":[],"warning":"w"},)"
                               R"({"columns":[{"i":{"type":"string"}}],"data":[],"warning":""}])");
  ASSERT_EQ(sent.size(), 8U);
  EXPECT_EQ(sent[3], "\xfe\1\0\xa\0"s);
  EXPECT_EQ(sent[7], "\xfe\1\0\2\0"s);
}

TEST(Results, FindValuesInAnyOrderAndIgnoreOthers) {
  const auto sent = packets_of(
      R"([{"columns":[{"a":{"type":"string"}},{"b":{"type":"string"}},{"c":{"type":"string"}}],)"
      R"("data":[{"c":"1","b":"2","a":"3"},{"b":"5","x":"9","a":"4"}]}])");
  ASSERT_EQ(sent.size(), 8U);
  EXPECT_EQ(sent[5],
            "\1"
            "3\1"
            "2\1"
            "1");
  EXPECT_EQ(sent[6],
            "\1"
            "4\1"
            "5\xfb");
}

TEST(Results, OfSeveralStatementsSayThatMoreFollow) {
  const auto sent =
      packets_of(R"([{"total":1,"error":"","warning":""},{"total":2}])", {.has_more = true});
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0], "\0\1\0\xa\0\0\0"s);
  EXPECT_EQ(sent[1], "\0\2\0\xa\0\0\0"s);
}

TEST(Results, HaveTheStateOfTheConnection) {
  const Results::Options options{.status = status_flag::kInTransaction, .warnings = 3};
  const auto rows = packets_of(R"([{"columns":[{"i":{"type":"string"}}],"data":[]}])", options);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[2], "\xfe\0\0\1\0"s);
  EXPECT_EQ(rows[3], "\xfe\3\0\1\0"s);
  EXPECT_EQ(packets_of(R"([{"total":1}])", options), std::vector{"\0\1\0\1\0\3\0"s});
}

TEST(Results, EndWithTheErrorOfAStatement) {
  const auto sent = packets_of(
      R"([{"total":1,"error":"","warning":""},{"total":0,"error":"P01: syntax error","warning":""},{"total":1}])");
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[1], "\xff\x28\x04#42000P01: syntax error"s);
}

TEST(Error, HasTheCodeThatClientsKnow) {
  EXPECT_EQ(error_of_answer(500, "unknown local table(s) 'nope' in search request").code, 1146);
  EXPECT_EQ(error_of_answer(500, "P01: syntax error, unexpected '('").code, 1064);
  EXPECT_EQ(error_of_answer(500, "table t: parse error: unknown column: colour").code, 1054);
  EXPECT_EQ(error_of_answer(500, "table t: sort-by attribute 'nosuch' not found").code, 1054);
  EXPECT_EQ(error_of_answer(400, "t: no such filter attribute 'a'").state, "42S22");
  EXPECT_EQ(error_of_answer(409, "duplicate id '901'").code, 1062);
  EXPECT_EQ(error_of_answer(500, "table docs: can not aggregate non-scalar attribute 'x'").code,
            1064);
  EXPECT_EQ(error_of_answer(500, "t: attribute 'body' can not be updated (must be bool)").code,
            1064);
  EXPECT_EQ(error_of_answer(409, "row 2, column 4: string expected").code, 1064);
  EXPECT_EQ(error_of_answer(500, "disk full").code, 1105);
  EXPECT_EQ(error_of_answer(502, "offset out of bounds (offset=7, max_matches=5)").code, 1105);
  EXPECT_EQ(error_of_answer(500, "offset out of bounds (offset=7, max_matches=5)").code, 1064);
  EXPECT_EQ(error_of_answer(429, "all tickets are taken").code, 1040);
  EXPECT_EQ(error_of_answer(504, "late").code, 3024);
  EXPECT_EQ(error_of_answer(502, "anything").code, 1105);
  EXPECT_EQ(error_of_answer(400, "at offset 3: the statement is not valid UTF-8").code, 1300);
  EXPECT_EQ(error_of_answer(400, "LIKE needs a pattern in quotes").code, 1064);
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
TEST(Results, SurviveAnyChangedByte) {
  const std::string json =
      R"([{"columns":[{"i":{"type":"long"}},{"s":{"type":"string"}}],"data":[{"i":-1,"s":"\u00e4"},{"i":2}],"total":2,"error":"","warning":"w"},{"total":1}])";
  std::minstd_rand random(20);
  for (int round = 0; round < 20'000; ++round) {
    auto changed = json;
    for (auto changes = random() % 3 + 1; changes > 0; --changes)
      changed[random() % changed.size()] = static_cast<char>(random());
    if (random() % 4 == 0) changed.resize(random() % changed.size());
    const auto form = round % 2 == 0 ? Form::text : Form::binary;
    EXPECT_FALSE(packets_of(changed, {.form = form}, 1 + random() % 100).empty());
  }
}

}  // namespace
}  // namespace karmad::mysql
