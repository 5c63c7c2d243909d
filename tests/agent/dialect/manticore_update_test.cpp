#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/agent/dialect/updating.hpp"

// SS-100: updates follow the write rules of their mirror set; this is what they look like.

namespace karmad {
namespace {

constexpr std::string_view kBulk =
    R"({"insert":{"table":"t","id":1,"doc":{"title":"a \" \\ \u00e9","v":[0.5,-1e3,18446744073709551615]}}}
{"create" : {"index" : "\u0074", "id":2, "doc":{"table":"other"}}}

{"replace":{"id":3,"doc":{"n":{"index":["x"]}},"table":"t"}})"
    "\r\n"
    R"({"update":{"table":"t","doc":{"n":null},"query":{"equals":{"id":3}}}}
 {"delete":{"table":"t","id":1}} 
)";

TEST(Update, NamesItsTableAndTheBytesThatSayIt) {
  const Updating updating;
  for (const auto* path : {"/insert", "/replace", "/update", "/delete", "/json/insert",
                           "/json/replace", "/json/update", "/json/delete"}) {
    const std::string_view body =
        R"( {"doc":{"table":"no","index":7}, "id":1, "t\u0061ble" : "pro\u0064ucts" })";
    const auto parsed = updating.parse(path, body);
    ASSERT_TRUE(parsed) << parsed.error().reason;
    EXPECT_EQ(parsed->table, "products");
    EXPECT_EQ(parsed->table_place.in(body), R"("pro\u0064ucts")");
    EXPECT_FALSE(parsed->read) << "an update must not run twice";
  }
  EXPECT_EQ(updating.table_of("/delete", R"({"index":"t","id":1})"), "t");
}

TEST(Update, LeavesDocumentsToTheMirror) {
  const Updating updating;
  EXPECT_EQ(updating.table_of("/insert", "{\"table\":\"t\",\"doc\":{\"a\":\"\xFF\"}}"), "t");
  EXPECT_EQ(
      updating.table_of("/insert", R"({"table":"t","id":99999999999999999999999,"doc":[1,"x"]})"),
      "t");
}

TEST(Update, IsRefusedWithTheReason) {
  using namespace std::string_view_literals;
  const Updating updating;
  const struct {
    std::string_view body, reason;
  } cases[] = {
      {"", "the body is empty; an update is a JSON object like"},
      {" \r\n", "the body is empty"},
      {R"({"table":"t",)", "the request is not JSON: "},
      {R"({"table":"t"} x)", "the request is not JSON: "},
      {R"({"table":"t"}{"table":"t"})", "the request is not JSON: "},
      {R"({"table":"t","doc":{"a":1e999}})", "the request is not JSON: "},
      {R"(title=x)", "the request is not JSON: "},
      {"{\"table\":\"t\",\"doc\":{\"a\":\"\t\"}}",
       "the request is not JSON: A control character in"},
      {R"(["t"])", "the request must be a JSON object"},
      {R"("t")", "the request must be a JSON object"},
      {R"({})", "the request names no table; give its name in \"table\""},
      {R"({"id":1,"doc":{"table":"t"}})", "the request names no table"},
      {R"({"table":7})", "the request must name its table with a string"},
      {R"({"table":{"a":1}})", "the request must name its table with a string"},
      {R"({"index":["a"]})", "the request must name its table with a string"},
      {R"({"table":""})", "the request has an empty table name"},
      {R"({"table":"a,b"})", "the request names several tables, \"a,b\"; name one"},
      {R"({"table":"_all"})", "\"_all\", which is not supported"},
      {R"({"table":"a","table":"a"})", "the request gives \"table\" twice"},
      {R"({"index":"a","table":"a","index":"a"})", "the request gives \"index\" twice"},
      {R"({"TABLE":"secret","table":"a"})",
       "the request has the key \"TABLE\", which some search servers read as \"table\" and others "
       "do not; name the table with \"table\""},
      {R"({"table":"a","Index":"secret"})", "which some search servers read as \"index\""},
      {R"({"table":"a","t\u0041ble":"b"})", "the key \"tAble\""},
      {R"({"table":"a","query":{},"join":[]})", "has \"join\" before offset 30, which names"},
      {R"({"table":"a","jOIN":[]})", "which some search servers read as \"join\""},
      {"{\"table\":\"t\"}\0garbage"sv, "a zero byte at offset 13"},
  };
  for (const auto& c : cases)
    EXPECT_TRUE(updating.table_of("/insert", c.body).starts_with("refused: ") &&
                updating.table_of("/insert", c.body).find(c.reason) != std::string::npos)
        << c.body << " -> " << updating.table_of("/insert", c.body);
}

TEST(Update, NestsAsDeepAsAllowedAndNoDeeper) {
  const auto nested = [](std::size_t depth) {
    return R"({"table":"t","doc":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  const Updating ten({.max_json_depth = 10});
  EXPECT_EQ(ten.table_of("/insert", nested(9)), "t");
  EXPECT_EQ(ten.table_of("/insert", nested(10)),
            "refused: the request nests deeper than max_json_depth = 10 at offset 28");
  const Updating deep({.max_json_depth = 1'000'000});
  EXPECT_FALSE(deep.parse("/insert", nested(100'000)));
  EXPECT_FALSE(deep.parse("/bulk", std::string(100'000, '[')));
}

TEST(Bulk, NamesOneTableOnEveryLine) {
  const Updating updating;
  for (const auto* path : {"/bulk", "/json/bulk"}) {
    const auto parsed = updating.parse(path, kBulk);
    ASSERT_TRUE(parsed) << parsed.error().reason;
    EXPECT_EQ(parsed->table, "t");
    EXPECT_EQ(parsed->table_place.in(kBulk), "\"t\"");
    EXPECT_FALSE(parsed->read);
  }
  EXPECT_EQ(updating.table_of("/bulk", R"({"delete":{"table":"t","id":1}})"), "t")
      << "the last line may lack its line feed";
}

TEST(Bulk, IsRefusedWithTheLineAndTheReason) {
  const Updating updating;
  const struct {
    std::string_view line, reason;
  } cases[] = {
      {R"({"insert":{"table":"u"}})",
       "line 4 names table \"u\", the lines before it \"t\"; all must name the same"},
      {R"({"insert":{"table":"t"},"delete":{"table":"t"}})", "line 4 holds several actions"},
      {R"({"insert":{"table":"t"},"x":1})", "line 4 holds several actions"},
      {R"({"upsert":{"table":"t"}})",
       "line 4 holds \"upsert\", which is none of insert, create, replace, update, delete"},
      {R"({"index":{"_index":"t","_id":1}})", "line 4 is of the Elasticsearch form"},
      {R"({"create":{"_index":"t","_id":1}})", "line 4 is of the Elasticsearch form"},
      {R"({"delete":{"_index":"t","_id":1}})", "line 4 is of the Elasticsearch form"},
      {R"({"insert":{"id":1,"doc":{"table":"t"}}})", "line 4 names no table"},
      {R"({"insert":{}})", "line 4 names no table"},
      {R"({"insert":[{"table":"t"}]})", "line 4 must hold an object with \"table\""},
      {R"({"insert":"t"})", "line 4 must hold an object with \"table\""},
      {R"({"insert":null})", "line 4 must hold an object with \"table\""},
      {R"({"insert":{"table":1}})", "line 4 must name its table with a string"},
      {R"({"insert":{"table":"t","table":"t"}})", "line 4 gives \"table\" twice"},
      {R"({"insert":{"index":"t","table":"u"}})", "line 4 names table \"u\""},
      {R"({"insert":{"Table":"secret","table":"t"}})", "line 4 has the key \"Table\", which some"},
      {R"({})", "line 4 holds no action"},
      {R"([])", "line 4 must be a JSON object"},
      {R"({"insert":{"table":"t"})", "line 4 is not JSON: "},
      {R"({"insert":{"table":"t"}} {"insert":{"table":"t"}})", "line 4 is not JSON: "},
      {"{\"insert\":\n{\"table\":\"t\"}}", "line 4 is not JSON: "},
      {R"(insert into t)", "line 4 is not JSON: "},
      {"{\"insert\":{\"table\":\"\x1f\"}}", "line 4 is not JSON: A control character in a string"},
  };
  for (const auto& c : cases) {
    const auto body =
        std::string("{\"insert\":{\"table\":\"t\"}}\n\r\n{\"delete\":{\"index\":\"t\"}}\r\n")
            .append(c.line)
            .append("\n");
    const auto got = updating.table_of("/bulk", body);
    EXPECT_TRUE(got.starts_with(std::string("refused: ").append(c.reason))) << got;
  }
  for (const auto* empty : {"", "\n", " \r\n\t\r \n"})
    EXPECT_TRUE(
        updating.table_of("/bulk", empty).starts_with("refused: the body is empty; a bulk"));
}

TEST(Bulk, ALongNameMakesNoLongMessage) {
  const auto body = R"({"insert":{"table":"t"}})"
                    "\n{\"insert\":{\"table\":\"" +
                    std::string(1'000'000, 'x') + "\"}}";
  EXPECT_LT(Updating().table_of("/bulk", body).size(), 300u);
}

TEST(OneMirror, GetsTheClientsOwnBytesWhenItsTableIsCalledTheSame) {
  const Updating updating;
  const std::vector<std::string> tables{"t"};
  for (const auto* path : {"/json/insert", "/bulk"}) {
    const std::string body = R"({"insert":{"table":"t"},"table":"t"})";
    auto request = Updating::post(path, path == std::string_view("/bulk") ? kBulk : body);
    request.query = "pretty";
    const auto parsed = updating.dialect().parse(request);
    ASSERT_TRUE(parsed);
    std::string buffer;
    const auto written = updating.dialect().write(request, *parsed, tables, buffer);
    EXPECT_EQ(written.body.data(), request.body.data()) << "not copied";
    EXPECT_EQ(written.body.size(), request.body.size());
    EXPECT_EQ(written.target, std::string(path) + "?pretty");
    EXPECT_EQ(written.method, "POST");
    EXPECT_EQ(written.content_type, request.content_type);
  }
}

TEST(OneMirror, GetsItsOwnTableNameAndNothingElseChanged) {
  const Updating updating;
  EXPECT_EQ(updating.written("/update", R"( {"id":1, "table" : "t","doc":{"table":"t"}} )", {"m"}),
            R"( {"id":1, "table" : "m","doc":{"table":"t"}} )");
  EXPECT_EQ(updating.written("/insert", R"({"index":"t"})", {"a\"b"}), R"({"index":"a\"b"})");
  EXPECT_EQ(
      updating.written("/bulk", kBulk, {"mir"}),
      R"({"insert":{"table":"mir","id":1,"doc":{"title":"a \" \\ \u00e9","v":[0.5,-1e3,18446744073709551615]}}}
{"create" : {"index" : "mir", "id":2, "doc":{"table":"other"}}}

{"replace":{"id":3,"doc":{"n":{"index":["x"]}},"table":"mir"}})"
      "\r\n"
      R"({"update":{"table":"mir","doc":{"n":null},"query":{"equals":{"id":3}}}}
 {"delete":{"table":"mir","id":1}} 
)");
}

TEST(OneMirror, GetsItsOwnTableNameInTableAndInIndex) {
  const Updating updating;
  EXPECT_EQ(updating.table_of("/insert", R"({"index":"other","table":"t"})"), "t");
  EXPECT_EQ(updating.written("/insert", R"({"index":"other","table":"t"})", {"m"}),
            R"({"index":"m","table":"m"})");
  EXPECT_EQ(updating.written("/insert", R"({"index":"other","table":"t"})", {"t"}),
            R"({"index":"t","table":"t"})")
      << "an older server reads index";
  EXPECT_EQ(updating.written("/bulk",
                             R"({"insert":{"table":"t"}}
{"insert":{"table":"T","index":"x"}})",
                             {"t"}),
            R"({"insert":{"table":"t"}}
{"insert":{"table":"t","index":"t"}})");
}

TEST(Bulk, NamesItsTableInAnyCase) {
  EXPECT_EQ(Updating().written("/bulk",
                               R"({"insert":{"table":"Products"}}
{"delete":{"index":"products"}})",
                               {"m"}),
            R"({"insert":{"table":"m"}}
{"delete":{"index":"m"}})");
}

TEST(OneMirror, OfSeveralTablesTheFirstIsChanged) {
  EXPECT_EQ(Updating().written("/delete", R"({"table":"t","id":1})", {"a", "b"}),
            R"({"table":"a","id":1})");
}

/// Parses, and when that succeeds renames the table: the new name must be what is read then. The
/// bytes stand in a block of exactly their size, so that a sanitizer sees a look beyond the end.
bool survives(const Updating& updating, std::string_view path, std::string_view text) {
  const auto bytes = std::make_unique<char[]>(text.size());
  std::memcpy(bytes.get(), text.data(), text.size());
  const std::string_view body(bytes.get(), text.size());
  updating.judged(200, body);
  updating.judged(500, body);
  const auto table = updating.table_of(path, body);
  if (table.starts_with("refused: ")) return false;
  const auto renamed = updating.written(path, body, {"mirrors_own"});
  EXPECT_EQ(updating.table_of(path, renamed), "mirrors_own") << body;
  return true;
}

TEST(HostileUpdates, AreReadOrRefusedHoweverTheyAreCutOrFlipped) {
  const Updating updating;
  const struct {
    std::string_view path, body;
  } cases[] = {{"/bulk", kBulk},
               {"/insert", R"({"table":"t","id":1,"doc":{"title":"a\u00e9\\","v":[1.5e2,null]}})"},
               {"/delete", R"({"index":"t","query":{"match":{"table":"x"}}})"}};
  std::size_t read = 0;
  std::size_t refused = 0;
  for (const auto& c : cases) {
    for (std::size_t size = 0; size <= c.body.size(); ++size)
      ++(survives(updating, c.path, c.body.substr(0, size)) ? read : refused);
    for (std::size_t at = 0; at < c.body.size(); ++at) {
      std::string flipped(c.body);
      for (const char by : {'\0', '"', '\\', '{', '}', '[', ']', ',', ':', '\n', '\r', '\xFF'}) {
        flipped[at] = by;
        ++(survives(updating, c.path, flipped) ? read : refused);
      }
      for (int bit = 0; bit < 8; ++bit) {
        flipped[at] = static_cast<char>(c.body[at] ^ (1 << bit));
        ++(survives(updating, c.path, flipped) ? read : refused);
      }
    }
  }
  EXPECT_GT(read, 500u);
  EXPECT_GT(refused, 2000u);
}

TEST(HostileUpdates, ManyLinesAreReadInOnePass) {
  std::string body;
  for (int i = 0; i < 50'000; ++i) body += "{\"delete\":{\"table\":\"t\",\"id\":1}}\n";
  const Updating updating;
  EXPECT_EQ(updating.table_of("/bulk", body), "t");
  EXPECT_EQ(updating.written("/bulk", body, {"tt"}).size(), body.size() + 50'000);
  EXPECT_FALSE(updating.parse("/bulk", std::string(1'000'000, '\n')));
}

TEST(ManticoreUpdates, QuoteLongNamesUpToAWholeCharacter) {
  const auto name = std::string(63, 'x') + "€";
  for (const auto& [path, body] :
       {std::pair{"/insert", R"({"table":")" + name + R"(,b","doc":{}})"},
        std::pair{"/bulk", R"({")" + name + R"(":{"table":"t"}})"}}) {
    const auto reason = Updating().table_of(path, body);
    EXPECT_TRUE(reason.contains("\"" + std::string(63, 'x') + "\"")) << reason;
  }
}

}  // namespace
}  // namespace karmad
