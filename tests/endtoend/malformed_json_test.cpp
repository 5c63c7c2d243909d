// Texts that are almost JSON, of clients and of mirrors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/endtoend/odd_replies.hpp"
#include "tests/support/cluster.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

TEST(WhiteSpaceBehindARequest, IsPartOfNoValueWhateverTheSize) {
  FakeMirror mirror([](const std::string&) { return json(hit(R"({"a":1})")); });
  for (const std::size_t size : {20U, 17'000U, 1'000'000U})
    for (const std::string_view space : {"\n", " \r\n\t "})
      for (const std::string_view path : {"/autocomplete", "/search", "/t/_search", "/insert"}) {
        Master master(
            "ha_ping_interval = 0",
            fmt::format("table t {{\n type = distributed\n agent = {}:t\n}}\n", mirror.address()));
        const auto table = path == "/t/_search" ? std::string() : R"("table":"t",)";
        const auto body = fmt::format(R"({}{{{}"id":7,"doc":{{}},"query":"{}"}}{})", space, table,
                                      std::string(size, 'a'), space);
        const auto answer = ask(master.port(), "POST", path, body);
        EXPECT_EQ(answer.status, 200) << path << ' ' << size << ' ' << answer.body;
      }
}

/// Two shards; the first has a mirror that answers `broken`, and one that answers `right`.
struct BrokenMirror {
  explicit BrokenMirror(const Reaction& broken, const Reaction& right)
      : first(2, right), second(1, right) {
    first[0].react(always(broken));
  }
  std::string table(std::string_view settings = {}) {
    return fmt::format(
        "table t {{\n type = distributed\n ha_strategy = roundrobin\n {}\n agent = {}|{}:t\n"
        " agent = {}:t\n}}\n",
        settings, first[0].address(), first[1].address(), second[0].address());
  }

  FakeSet first;
  FakeSet second;
};

constexpr std::string_view kNumbers[] = {"nan2", "inf7", "-inf5",    "-nan0", "infinity", "nan(1)",
                                         "1x",   "+1",   "1e9992 x", "null2", "truer",    "\"\"1"};

struct MalformedCase {
  std::string_view path, request;
};

TEST(MalformedNumber, InTheAnswerOfAMirrorIsAnotherMirrorsChance) {
  const MalformedCase cases[] = {{"/search", R"({"table":"t"})"},
                                 {"/t/_search", "{}"},
                                 {"/_msearch", "{\"index\":\"t\"}\n{}\n"}};
  for (const auto number : kNumbers) {
    const auto score = fmt::format(R"("_score":{})", number);
    auto broken = hit(R"({"from":"broken"})");
    broken.replace(broken.find(R"("_score":1)"), 10, score);
    for (const auto& body : {broken, hit(fmt::format(R"({{"x":{}}})", number))}) {
      BrokenMirror set(json(body), json(hit(R"({"from":"right"})")));
      Master master("ha_ping_interval = 0", set.table());
      for (const auto& each : cases)
        for (int round = 0; round < 2; ++round) {
          const auto answer = ask(master.port(), "POST", each.path, each.request);
          EXPECT_EQ(answer.status, 200) << each.path << ' ' << body << ' ' << answer.body;
          EXPECT_TRUE(answer.body.contains(R"({"from":"right"})")) << answer.body;
          EXPECT_FALSE(answer.body.contains("broken")) << answer.body;
        }
      EXPECT_GT(master.count("ag_t_1_1_wrong_replies"), 0);
      EXPECT_EQ(master.count("ag_t_1_2_wrong_replies"), 0);
    }
  }
}

TEST(MalformedNumber, OfAllMirrorsIsAnErrorOfTheSearchAndNotANumber) {
  for (const auto number : {"nan2", "inf7", "-inf5"}) {
    const auto body = hit(fmt::format(R"({{"x":{}}})", number));
    BrokenMirror set(json(body), json(body));  // of both shards
    Master master("ha_ping_interval = 0", set.table());
    for (const std::string_view path : {"/search", "/t/_search"}) {
      const auto answer =
          ask(master.port(), "POST", path, path == "/search" ? R"({"table":"t"})" : "{}");
      EXPECT_EQ(answer.status, 502) << path << answer.body;
    }
  }
}

TEST(MalformedNumber, InARowIsAnotherMirrorsChanceAndInfinitiesAreNone) {
  const auto rows = [](std::string_view number, int id) {
    return json(fmt::format(
        R"([{{"columns":[{{"id":{{"type":"long long"}}}},{{"x":{{"type":"float"}}}},)"
        R"({{"karmad_0":{{"type":"long"}}}}],)"
        R"("data":[{{"id":{},"x":{},"karmad_0":1}}],"total":1,"error":"","warning":""}},)"
        R"({{"columns":[{{"Variable_name":{{"type":"string"}}}},{{"Value":{{"type":"string"}}}}],)"
        R"("data":[{{"Variable_name":"total","Value":"1"}},{{"Variable_name":"total_found","Value":"1"}},)"
        R"({{"Variable_name":"total_relation","Value":"eq"}},{{"Variable_name":"time","Value":"0.000"}}],)"
        R"("total":4,"error":"","warning":""}}])",
        id, number));
  };
  constexpr std::string_view kValues = " inf -inf nan -nan ";
  for (const auto number : {"nan2", "inf7", "-inf5", "1x", "inf", "-inf", "nan", "-nan"}) {
    const bool is_value = kValues.contains(fmt::format(" {} ", number));
    BrokenMirror set(rows(number, 1), rows("7.5", 2));
    Master master("ha_ping_interval = 0", set.table());
    for (const std::string_view path : {"/sql", "/sql?mode=raw", "/cli"}) {
      bool shown = false;
      for (int round = 0; round < 2;
           ++round) {  // each mirror of the first shard is asked first once
        const auto answer = ask(master.port(), "POST", path, "SELECT id, x FROM t LIMIT 5");
        EXPECT_EQ(answer.status, 200) << path << ' ' << number << ' ' << answer.body;
        EXPECT_TRUE(answer.body.contains("7.5")) << path << ' ' << number << answer.body;
        shown = shown || answer.body.contains("null") || answer.body.contains("NULL");
      }
      EXPECT_EQ(shown, is_value) << path << ' ' << number;
    }
    EXPECT_EQ(master.count("ag_t_1_1_wrong_replies") > 0, !is_value) << number;
  }
}

// Found by the fuzz target: the answer of the only shard that is asked became the client's unread.
TEST(MalformedStatements, AskedAtOneShardAreAnotherMirrorsChance) {
  const auto sets = [](std::string_view type, std::string_view end) {
    return json(
        fmt::format(R"([{{"columns":[{{"Value":{{"type":{}}}}}],"data":[{{"Value":"right"}}],)"
                    R"("total":1,"error":"","warning":""}}{})",
                    type, end));
  };
  for (const auto& broken : {sets(R"("string)", "]"), sets("nan2", "]"), sets(R"("string")", "}]"),
                             sets(R"("string")", "]]"), sets(R"("string")", ",]")}) {
    BrokenMirror set(broken, sets(R"("string")", "]"));
    Master master("ha_ping_interval = 0", set.table());
    for (const std::string_view statement :
         {"SELECT VERSION()", "SHOW VARIABLES", "SHOW CREATE TABLE t"})
      for (int round = 0; round < 2; ++round) {
        const auto answer = ask(master.port(), "POST", "/sql?mode=raw", statement);
        EXPECT_EQ(answer.status, 200) << statement << answer.body << broken.bytes;
        EXPECT_TRUE(answer.body.contains(R"({"type":"string"}}],"data":[{"Value":"right"}])"))
            << statement << answer.body << broken.bytes;
      }
    EXPECT_GT(master.count("ag_t_1_1_wrong_replies"), 0) << broken.bytes;
  }
}

TEST(MalformedErrors, OfMirrorsMakeNoAnswerMalformed) {
  for (const std::string_view error :
       {R"({"error":"P01: syntax error, unexpected x"} junk })",
        R"({"error":"P01: syntax error, unexpected x","x":nan2})",
        R"({"error":"P01: syntax error, unexpected x"}{}})", "{}",
        R"({"error":"P01: syntax error, unexpected x"})", " {\n}\n "}) {
    FakeMirror mirror([&](const std::string&) { return json(error, 400); });
    Master master(
        "ha_ping_interval = 0",
        fmt::format("table t {{\n type = distributed\n agent = {}:t\n}}\n", mirror.address()));
    const auto answer = ask(master.port(), "POST", "/_msearch", "{\"index\":\"t\"}\n{}\n");
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body.ends_with(R"("status":400}]})")) << answer.body;
    EXPECT_FALSE(answer.body.contains("junk") || answer.body.contains("nan2") ||
                 answer.body.contains("{,"))
        << answer.body;
  }
}

}  // namespace
}  // namespace karmad::test
