// The forms of configuration that were tried on the search server itself: which of them load here,
// and what is said. Where the two differ, we are the stricter ones: a table that cannot be served
// as written is an error before the start, not a table that is missing afterwards.
#include <gtest/gtest.h>

#include "config/agent_line.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

struct Form {
  const char* name;
  std::string text;
  const char* problem;      // empty: it loads
  const char* notice = "";  // and this is among what is said
};

const Form kForms[] = {
    {"options separated by a blank",
     table(" agent = 127.0.0.1:9312:t [ha_strategy=random retry_count=10]"),
     "c:3:46: a comma is needed between two options"},
    {"options separated by commas",
     table(" agent = 127.0.0.1:9312|127.0.0.1:9313:t [ha_strategy=noerrors, retry_count=8, "
           "conn=persistent,blackhole=0]"),
     ""},
    {"unknown option", table(" agent = 127.0.0.1:9312:t [foo=1]"), "c:3:28: unknown option 'foo'"},
    {"two agents, the first broken", table(" agent = 127.0.0.1:70000:t\n agent = 127.0.0.1:9312:t"),
     "c:3:20: port 70000 is larger than 65535"},
    {"no port", table(" agent = 10.0.0.1:t"), "", "has no port; 9308 is used"},
    {"unknown strategy, judged by the strategies' room",
     table(" ha_strategy = fastest\n agent = 127.0.0.1:9312|127.0.0.1:9313:t"), ""},
    {"ha_strategy in searchd",
     "searchd {\n ha_strategy = noerrors\n}\n" + table(" agent = 127.0.0.1:9312:t"), ""},
    {"agent_retry_delay in a table", table(" agent = 127.0.0.1:9312:t\n agent_retry_delay = 10"),
     "c:4:2: 'agent_retry_delay' belongs in searchd, not here"},
    {"mirror_retry_count in searchd",
     "searchd {\n mirror_retry_count = 3\n}\n" + table(" agent = 127.0.0.1:9312:t"), ""},
    {"many retries", "searchd {\n agent_retry_count = 20\n agent_retry_delay = 5000\n}\n", "",
     "20 retries: more than 8"},
    {"a fraction of a second", "searchd {\n ha_ping_interval = 1.5s\n}\n",
     "c:2:22: ha_ping_interval: '1.5s' has a fraction"},
    {"minutes", "searchd {\n ha_period_karma = 2m\n}\n", ""},
    {"a blank before the unit", "searchd {\n agent_connect_timeout = 500 ms\n}\n",
     "c:2:29: agent_connect_timeout: '500 ms' has a blank between number and unit"},
    {"a timeout of zero", "searchd {\n agent_query_timeout = 0\n}\n",
     "c:2:24: agent_query_timeout is shorter than 1ms: 0"},
    {"karma period zero", "searchd {\n ha_period_karma = 0\n}\n",
     "c:2:20: ha_period_karma is shorter than one second"},
    {"karma period below a second", "searchd {\n ha_period_karma = 500ms\n}\n",
     "c:2:20: ha_period_karma is shorter than one second"},
    {"both names of the retry count",
     table(" agent = a:1|b:1:t\n agent_retry_count=2\n mirror_retry_count=3"), "",
     "mirror_retry_count overrides its other name"},
    {"negative retry count", table(" agent = a:1|b:1:t\n mirror_retry_count=-1"),
     "c:4:21: mirror_retry_count: '-1' must not be negative"},
    {"strategy without mirrors", table(" agent = 127.0.0.1:9312:t\n ha_strategy=nodeads"), "",
     "ha_strategy has no effect"},
    {"agent_persistent without a limit", table(" agent_persistent = 127.0.0.1:9312:t"), ""},
    {"no agent", table(""),
     "c:1:1: table 't' needs a line of agent or agent_persistent, or discovery"},
    {"local table", table(" local = nope\n agent = a:1"), "c:3:2: karmad has no local tables"},
    {"the same table twice", table(" agent = a:1") + table(" agent = a:1"),
     "c:5:1: table 't' is already defined"},
    {"unknown parent", "table b : zzz {\n type=distributed\n agent = a:1:w\n}",
     "c:1:11: the parent 'zzz' of table 'b' is not defined before it"},
    {"unknown key", "searchd {\n foo = 1\n}", "c:2:2: unknown key 'foo'"},
    {"unknown section", "foo {\n a = 1\n}", "c:1:1: unknown section 'foo'"},
    {"host that may not resolve", table(" agent = no.such.host.invalid:9312:t"), ""},
    {"options of the line behind a mirror",
     table(" agent = 127.0.0.1:9312:t[conn=pconn]|127.0.0.1:9313:t"),
     "c:3:27: conn holds for the whole line"},
    {"keywords in capitals", "INDEX a {\n TYPE=distributed\n Agent = 127.0.0.1:9312:t\n}", ""},
    {"missing closing brace", "table a {\n type=distributed\n agent = 127.0.0.1:9312:t\n",
     "c:4:1: the closing '}'"},
    {"a dot in a name", "table my-table.x {\n type=distributed\n agent = 127.0.0.1:9312:t\n}",
     "c:1:15: expected ':' or '{', found '.'"},
};

TEST(PeerForms, LoadOrAreRefusedWithAReason) {
  for (const auto& form : kForms) {
    const auto problems = problems_of(form.text);
    if (*form.problem == '\0') {
      EXPECT_EQ(problems, Lines{}) << form.name;
      EXPECT_TRUE(*form.notice == '\0' || mentions(notices_of(form.text), form.notice))
          << form.name << testing::PrintToString(notices_of(form.text));
    } else {
      ASSERT_EQ(problems.size(), 1U) << form.name << testing::PrintToString(problems);
      EXPECT_TRUE(problems[0].starts_with(form.problem)) << form.name << ": " << problems[0];
    }
  }
}

std::string only_shard_of_last_table(const std::string& text) {
  const auto loaded = load_text(text);
  if (!loaded.settings || loaded.settings->tables.back().shards.size() != 1) return "not one shard";
  const auto& table = loaded.settings->tables.back();
  return karmad::text(table.shards[0], table);
}

TEST(PeerForms, InheritingTableReplacesTheWholeListOfAgents) {
  EXPECT_EQ(
      only_shard_of_last_table("table a {\n type=distributed\n agent = x:1:t\n agent = y:1:u\n"
                               " ha_strategy=nodeads\n}\n"
                               "table b : a {\n agent = 127.0.0.1:9314|127.0.0.1:9315:w\n}"),
      "127.0.0.1:9314:w|127.0.0.1:9315:w");
}

TEST(PeerForms, ContinuedLinesAndCommentsAreNoPartOfTheValue) {
  EXPECT_EQ(only_shard_of_last_table("table a {\n type=distributed # trailing comment\n"
                                     " agent = 127.0.0.1:9312 \\\n   | 127.0.0.1:9313:t\n}"),
            "127.0.0.1:9312:t|127.0.0.1:9313:t");
}

TEST(PeerForms, AClosingBraceOnAValuesLineIsNoPartOfTheTablesName) {
  EXPECT_EQ(only_shard_of_last_table("table a {\n type=distributed\n agent = 127.0.0.1:9312:t }\n"),
            "127.0.0.1:9312:t");
}

}  // namespace
}  // namespace karmad
