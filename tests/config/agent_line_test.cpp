#include "config/agent_line.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/text/parse.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

struct Read {
  std::optional<ShardSettings> shard;  ///< of a line without mistakes
  Lines problems;
  Lines notices;
};

Read read_line(const SourceText& line) {
  Problems problems;
  Problems notices;
  auto shard = parse_agent_line(line, "own", problems, notices);
  return {problems.empty() ? std::optional(std::move(shard)) : std::nullopt, lines(problems),
          lines(notices)};
}
Read read_line(std::string_view line) {
  return read_line(source(line));
}

TEST(AgentLine, ReadsMirrorsTablesAndOptions) {  // HA-026
  struct {
    const char* line;
    const char* meaning;
  } const cases[] = {
      {"h:9312:t", "h:9312:t"},
      {"h:9312", "h:9312:own"},
      {"h", "h:9308:own"},
      {"h:t", "h:9308:t"},
      {"127.0.0.1:t", "127.0.0.1:9308:t"},
      {"h:2024logs", "h:9308:2024logs"},
      {"h:9312:t1,t2 , t3", "h:9312:t1,t2,t3"},
      {"H.Example:1:T", "h.example:1:T"},
      {"my_host-1.x:1", "my_host-1.x:1:own"},
      {"[::1]:9312:t", "[::1]:9312:t"},
      {"[::1]", "[::1]:9308:own"},
      {"[::1]:t", "[::1]:9308:t"},
      {"[2001:DB8:0:0::1]:1:t", "[2001:db8::1]:1:t"},
      {"[fe80::1%eth0]:1:t", "[fe80::1%eth0]:1:t"},
      {"/run/a.sock:t", "/run/a.sock:t"},
      {"/run/a.sock", "/run/a.sock:own"},
      {"a:1|b:2|c:3:t", "a:1:t|b:2:t|c:3:t"},
      {"a:1:t1|b:2", "a:1:t1|b:2:own"},
      {"a:1|b:2:x,y|c:3|d:4:z", "a:1:x,y|b:2:x,y|c:3:z|d:4:z"},
      {"a:1    | b:2:t", "a:1:t|b:2:t"},
      {"[::1]:1|[::2]:2:t[blackhole=0]", "[::1]:1:t|[::2]:2:t"},
      {"a:1|/run/s|[::1]:2:t", "a:1:t|/run/s:t|[::1]:2:t"},
      {"a:1:t[conn=pconn]", "a:1:t [conn=persistent]"},
      {"a:1:t [conn=persistent, ha_strategy=noerrors, retry_count=10]",
       "a:1:t [conn=persistent, ha_strategy=noerrors, retry_count=10]"},
      {"a:1|b:2:t [ HA_Strategy = NoDeads ]", "a:1:t|b:2:t [ha_strategy=nodeads]"},
      {"a:1:t []", "a:1:t"},
      {"a:1[retry_count=0]", "a:1:own [retry_count=0]"},
      {"a:1:t[role=primary,tags=dc:ny;rack:2,weight=2]|b:2:t[tags=dc:sf]|c:3:t[tags=dc:la]"
       "[ha_strategy=leastops]",
       "a:1:t[role=primary,tags=dc:ny;rack:2,weight=2]|b:2:t[tags=dc:sf]|c:3:t[tags=dc:la] "
       "[ha_strategy=leastops]"},
      {"a:1 [ Weight = 0 , TAGS = DC:Ny ] | b:2:t [ role=Replica ] [ set=Main ]",
       "a:1:t[tags=DC:Ny,weight=0]|b:2:t[role=Replica] [set=Main]"},
      {"a:1[role=x]|b:2[conn=pconn]", "a:1:own[role=x]|b:2:own [conn=persistent]"},
      {"a:1|b:2[role=x]", "a:1:own|b:2:own[role=x]"},
      {"a:1[]|b:2[][]", "a:1:own|b:2:own"},
      {"a:1[weight=1]", "a:1:own[weight=1]"},
      {"[::1]:1:t[role=primary]|[::2][weight=3]|/run/s:t[tags=a:b]|/run/u[role=replica]",
       "[::1]:1:t[role=primary]|[::2]:9308:t[weight=3]|/run/s:t[tags=a:b]|/run/"
       "u:own[role=replica]"},
      {"a:1[ping_type=Native,ping_path=/Hello?a=b,set=S1]",
       "a:1:own [ping_type=native, ping_path=/Hello?a=b, set=S1]"},
  };
  for (const auto& c : cases) {
    const auto read = read_line(c.line);
    EXPECT_EQ(read.problems, Lines{}) << c.line;
    ASSERT_TRUE(read.shard) << c.line;
    EXPECT_EQ(text(*read.shard), c.meaning);
    EXPECT_EQ(text(*read_line(c.meaning).shard), c.meaning) << "reads back";
  }
}

const std::string kKnown =
    "; known are role, tags, weight, state, max_in_flight, resolve, agent_tls, agent_tls_name "
    "behind a mirror and conn, "
    "ha_strategy, blackhole, retry_count, ping_type, ping_path, set at the end of the line";

TEST(AgentLine, ReportsMistakesAtTheirCharacter) {
  struct {
    const char* line;
    std::string problem;
  } const cases[] = {
      {"", "c:1:1: the line names no agent; it needs host:port:table"},
      {"[conn=pconn]", "c:1:1: the line names no agent; it needs host:port:table"},
      {"127.0.0.1:70000:t", "c:1:11: port 70000 is larger than 65535"},
      {"h:0:t", "c:1:3: an agent cannot have port 0"},
      {"a:1|h:99999999999999999999:t", "c:1:7: '99999999999999999999' is too large"},
      {"300.1.1.1:1:t", "c:1:1: '300.1.1.1' is neither a host name nor an IPv4 address"},
      {"9312:t", "c:1:1: '9312' is neither a host name nor an IPv4 address"},
      {"ho st:1", "c:1:3: ' ' cannot be part of a host name"},
      {"münchen:1", "c:1:2: 'ü' cannot be part of a host name"},
      {"/run/表:t", "c:1:6: '表' cannot be part of a socket's path"},
      {"[::1]😀", "c:1:6: expected ':' after the host, found '😀'"},
      {":9312:t", "c:1:1: a host is missing"},
      {"::1:9312", "c:1:1: an IPv6 address needs brackets, as in [::1]:9308:table"},
      {"a:1|fe80::1:9312", "c:1:5: an IPv6 address needs brackets, as in [::1]:9308:table"},
      {"[::1:9312:t", "c:1:1: the '[' of an IPv6 address has no ']'"},
      {"[::g]:9312:t", "c:1:2: '::g' is not an IPv6 address"},
      {"[::1]9312", "c:1:6: expected ':' after the host, found '9'"},
      {"h:1:", "c:1:5: the name of a table is missing"},
      {"h:1:a,,b", "c:1:7: the name of a table is missing"},
      {"h:1:a b", "c:1:6: a blank inside the name of a table; several tables are separated by ','"},
      {"h:1:a:b", "c:1:6: no ':' can follow the table 'a'; a mirror is host:port:table"},
      {"h:93o8:t", "c:1:7: no ':' can follow the table '93o8'; a mirror is host:port:table"},
      {"h:1:a/b", "c:1:5: 'a/b' is not the name of a table"},
      {"/run/a b:t", "c:1:7: ' ' cannot be part of a socket's path"},
      {"h:1:t [foo=1]", "c:1:8: unknown option 'foo'" + kKnown},
      {"h:1:t [retry_cuont=1]",
       "c:1:8: unknown option 'retry_cuont'; did you mean 'retry_count'?" + kKnown},
      {"h:1:t[wieght=1]|g:1:t", "c:1:7: unknown option 'wieght'; did you mean 'weight'?" + kKnown},
      {"h:1:t [ha_strategy=random retry_count=10]",
       "c:1:26: a comma is needed between two options"},
      {"h:1:t [conn]", "c:1:8: the option 'conn' is not of the form name=value"},
      {"h:1:t [conn=]", "c:1:13: the option conn has no value"},
      {"h:1:t [conn=fast]", "c:1:13: conn is persistent or pconn, not 'fast'"},
      {"h:1:t [blackhole=on]", "c:1:18: 'on' is neither 0 nor 1"},
      {"h:1:t [retry_count=-1]", "c:1:20: '-1' must not be negative"},
      {"h:1:t [retry_count=101]", "c:1:20: retry_count is larger than 100"},
      {"h:1:t [conn=pconn,]", "c:1:19: an option is missing here"},
      {"h:1:t [blackhole=0,blackhole=1]", "c:1:20: the option blackhole is given twice"},
      {"h:1:t [conn=pconn", "c:1:7: the '[' of the options has no ']'"},
      {"h:1:t [conn=pconn] x", "c:1:20: nothing may follow the options, found 'x'"},
      {"h:1:t[conn=pconn]|g:1:t",
       "c:1:7: conn holds for the whole line: it belongs in the bracket at the end of the line"},
      {"h:1:t[role=primary,retry_count=1]|g:1:t",
       "c:1:20: retry_count holds for the whole line: it belongs in the bracket at the end of the "
       "line"},
      {"h:1:t[role=primary][conn=pconn]|g:1:t",
       "c:1:20: a second bracket holds the options of the line: it belongs at the end of the line"},
      {"h:1:t[role=primary,conn=pconn]",
       "c:1:20: a bracket holds options of a mirror or of the line, never both; write "
       "[role=…][conn=…]"},
      {"h:1:t[set=x,tags=a:b]",
       "c:1:13: a bracket holds options of a mirror or of the line, never both; write "
       "[tags=…][set=…]"},
      {"h:1:t[role=primary][weight=2]",
       "c:1:21: weight holds for one mirror: it belongs in the bracket right behind that mirror"},
      {"h:1:t[conn=pconn][set=x]",
       "c:1:7: conn holds for the whole line: it belongs in the bracket at the end of the line"},
      {"h:1:t[role=x][set=x][]",
       "c:1:21: nothing may follow the options of the line, found a third bracket"},
      {"h:1:t|[role=x]",
       "c:1:8: role holds for one mirror: it belongs in the bracket right behind that mirror"},
      {"h:1:t|[role=x]|g:1:t", "c:1:7: there is no mirror before these options"},
      {"h:1:t[role=x] y|g:1:t", "c:1:15: nothing may follow the options, found 'y'"},
      {"h:1:t[role=x|g:1:t]", "c:1:6: the '[' of the options has no ']'"},
      {"h:1:t[role=]|g:1:t", "c:1:12: the option role has no value"},
      {"h:1:t[tags= ]|g:1:t", "c:1:12: the option tags has no value"},
      {"h:1:t[weight=]|g:1:t", "c:1:14: the option weight has no value"},
      {"h:1:t[role=a,role=b]|g:1:t", "c:1:14: the option role is given twice"},
      {"h:1:t[tags=dc:ny,rack:2]|g:1:t",
       "c:1:18: the option 'rack:2' is not of the form name=value; tags are separated by ';'"},
      {"h:1:t[tags=dc:ny rack:2]|g:1:t", "c:1:17: a comma is needed between two options"},
      {"h:1:t[weight=1001]|g:1:t", "c:1:14: weight is larger than 1000"},
      {"h:1:t[weight=-1]|g:1:t", "c:1:14: '-1' must not be negative"},
      {"h:1:t[weight=1.5]|g:1:t", "c:1:15: '1.5' is not a whole number"},
      {"[::1]:1:t[weight=x]|g:1:t", "c:1:18: 'x' does not begin with a whole number"},
      {"h:1:t[set=]", "c:1:11: the option set has no value"},
      {"http://h:9200",
       "c:1:1: an agent is host:port, not a URL: write 'h:9200' without 'http://'"},
      {"h:1:t|https://h/x",
       "c:1:7: an agent is host:port, not a URL: write 'h/x' without 'https://'"},
      {"a:9200, b:9200",
       "c:1:7: mirrors are separated by '|', as in a:9308|b:9308; ',' separates the names of "
       "tables"},
      {"a:9200:t, b:9200:t",
       "c:1:9: mirrors are separated by '|', as in a:9308|b:9308; ',' separates the names of "
       "tables"},
      {"a:9200:t,b:9200",
       "c:1:9: mirrors are separated by '|', as in a:9308|b:9308; ',' separates the names of "
       "tables"},
  };
  for (const auto& c : cases) {
    const auto read = read_line(c.line);
    EXPECT_EQ(read.problems, Lines{c.problem}) << c.line;
    EXPECT_FALSE(read.shard) << c.line;
  }
}

TEST(AgentLine, ReportsTheMistakesOfAllMirrors) {
  EXPECT_EQ(read_line("a:70000|b:1|c:1:x y [foo=1, bar=2]").problems.size(), 4U);
}

TEST(AgentLine, FindsTheLineAndColumnBehindContinuationLines) {
  Problems problems;
  const auto line = expand("c", "a:1 \\\n  | b:70000:t", world({}).variable, 1000, problems);
  EXPECT_EQ(read_line(line).problems, Lines{"c:2:7: port 70000 is larger than 65535"});
}

TEST(AgentLine, SkipsEmptyPiecesAndDefaultsPortsWithANotice) {
  const auto read = read_line("a:1||b|");
  ASSERT_TRUE(read.shard);
  EXPECT_EQ(text(*read.shard), "a:1:own|b:9308:own");
  EXPECT_EQ(read.notices, (Lines{"c:1:5: no mirror stands between two '|'; ignored",
                                 "c:1:6: the agent has no port; 9308 is used",
                                 "c:1:8: no mirror stands between two '|'; ignored"}));
}

TEST(AgentLine, KnowsThePlacesOfMirrorsAndOptionsAndTheLineAsWritten) {
  const auto read = read_line("a:1 | b:2:t [ha_strategy=random]");
  ASSERT_TRUE(read.shard);
  EXPECT_EQ(read.shard->line, "a:1 | b:2:t [ha_strategy=random]");
  EXPECT_EQ(read.shard->mirrors[1].at, (Place{"c", 1, 7}));
  EXPECT_EQ(read.shard->ha_strategy->at, (Place{"c", 1, 26}));
}

TEST(AgentLine, LetsOptionsWinOverDefaults) {
  Problems problems;
  Problems notices;
  const ShardSettings blackhole{.blackhole = true};
  EXPECT_TRUE(parse_agent_line(source("a:1"), "own", problems, notices, blackhole).blackhole);
  EXPECT_FALSE(
      parse_agent_line(source("a:1[blackhole=0]"), "own", problems, notices, blackhole).blackhole);
}

TEST(AgentLine, KeepsOptionsOfAMirrorAsWrittenWithTheirPlace) {
  const auto read = read_line("a:1[role=Primary,tags=DC:ny;Rack:2]|b:2:t[weight=7][set=Main]");
  ASSERT_TRUE(read.shard);
  const auto& first = read.shard->mirrors[0];
  EXPECT_EQ(first.role.value().value, "Primary");
  EXPECT_EQ(first.role.value().at, (Place{"c", 1, 10}));
  EXPECT_EQ(first.tags.value().value, "DC:ny;Rack:2");
  EXPECT_EQ(first.tags.value().at, (Place{"c", 1, 23}));
  EXPECT_EQ(first.weight.value, 1U);
  const auto& last = read.shard->mirrors[1];
  EXPECT_FALSE(last.role);
  EXPECT_FALSE(last.tags);
  EXPECT_EQ(last.weight.value, 7U);
  EXPECT_EQ(last.weight.at, (Place{"c", 1, 50}));
  EXPECT_EQ(read.shard->set_name.value().value, "Main");
  EXPECT_EQ(read.shard->set_name.value().at, (Place{"c", 1, 57}));
}

TEST(AgentLine, IgnoresOptionsOfMirrorsOfABlackhole) {
  const auto read = read_line("a:1|b:2[role=primary,weight=2]|c:3[tags=x:y][blackhole=1]");
  ASSERT_TRUE(read.shard);
  EXPECT_EQ(text(*read.shard), "a:1:own|b:2:own|c:3:own");
  EXPECT_EQ(read.notices,
            Lines{"c:1:5: role, tags, weight and state are ignored in a blackhole: each agent "
                  "gets a copy"});
  const auto out = read_line("a:1[agent_tls=no]|b:2[state=maint]|c:3[blackhole=1]");
  ASSERT_TRUE(out.shard);
  EXPECT_EQ(out.shard->mirrors[1].state.value, ServiceState::ready);
  EXPECT_EQ(out.notices,
            Lines{"c:1:19: role, tags, weight and state are ignored in a blackhole: each agent "
                  "gets a copy"});
}

const std::string kGood =
    "a:1:t[role=primary,weight=2]|[::1]:2[tags=dc:ny;rack:2]|/run/s:u,v [role=x][conn=pconn, "
    "set=m]";

void expect_a_shard_or_problems(const std::string& line) {
  const auto read = read_line(line);
  EXPECT_EQ(read.shard.has_value(), read.problems.empty()) << line;
  if (!read.shard) return;
  const auto written = text(*read.shard);
  const auto again = read_line(written);
  EXPECT_EQ(again.problems, Lines{}) << written << " from " << line;
  if (again.shard) {
    EXPECT_EQ(text(*again.shard), written);
  }
}

TEST(AgentLine, SurvivesEverySingleChangedCharacter) {
  for (std::size_t at = 0; at < kGood.size(); ++at)
    for (const char c : std::string_view("[]|:;,=/ \x01\xff")) {
      auto line = kGood;
      line[at] = c;
      expect_a_shard_or_problems(line);
    }
}

TEST(AgentLine, SurvivesEveryBeginningEveryEndAndEveryMissingPart) {
  for (std::size_t at = 0; at <= kGood.size(); ++at) {
    expect_a_shard_or_problems(kGood.substr(0, at));
    expect_a_shard_or_problems(kGood.substr(at));
    for (std::size_t length = 1; at + length <= kGood.size(); ++length)
      expect_a_shard_or_problems(kGood.substr(0, at) + kGood.substr(at + length));
  }
}

}  // namespace
}  // namespace karmad
