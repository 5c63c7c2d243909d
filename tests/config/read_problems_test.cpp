#include "config/load.hpp"

#include <gtest/gtest.h>

#include "config/agent_line.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

TEST(Read, ReportsUnknownKeysWithTheClosestOne) {
  EXPECT_EQ(problems_of("searchd {\n ha_stratgy = random\n foobarbaz = 1\n}\n" +
                        table(" agnet = a:1\n agent = a:1")),
            (Lines{"c:2:2: unknown key 'ha_stratgy'; did you mean 'ha_strategy'?",
                   "c:3:2: unknown key 'foobarbaz'",
                   "c:7:2: unknown key 'agnet'; did you mean 'agent'?"}));
}

TEST(Read, SaysWhereAKnownKeyBelongs) {
  EXPECT_EQ(problems_of("searchd {\n agent = a:1\n}\n" + table(" listen = 1\n agent = a:1")),
            (Lines{"c:2:2: 'agent' belongs in a distributed table, not here",
                   "c:6:2: 'listen' belongs in searchd, not here"}));
}

TEST(Read, ReportsBadValuesAtTheCharacterThatIsWrong) {
  struct {
    const char* line;
    const char* problem;
  } const cases[] = {
      {"ha_ping_interval = 1.5s",
       "c:2:21: ha_ping_interval: '1.5s' has a fraction; write a whole number of a smaller unit"},
      {"agent_connect_timeout = 500 ms",
       "c:2:28: agent_connect_timeout: '500 ms' has a blank between number and unit; write "
       "'500ms'"},
      {"workers =", "c:2:10: workers: a value is missing"},
      {"workers = many", "c:2:11: workers: 'many' does not begin with a whole number"},
      {"workers = 4294967296", "c:2:11: workers: '4294967296' is too large"},
      {"karma_compound = on", "c:2:18: karma_compound: 'on' is neither 0 nor 1"},
      {"partial_results = alow",
       "c:2:19: partial_results: 'alow' is not one of allow, deny; did you mean 'allow'?"},
      {"collation_server = utf8_general_ci",
       "c:2:20: collation_server: 'utf8_general_ci' is not one of libc_ci, libc_cs, binary"},
      {"search_timeouts =", "c:2:18: search_timeouts: a value is missing"},
      {"search_timeouts = 1s,, 2s", "c:2:22: search_timeouts: a value is missing"},
      {"search_timeouts = 1s, 2x",
       "c:2:24: search_timeouts: '2x' has an unknown unit; known are us, ms, s, m, h, d, w"},
      {"search_timeouts = 1,2,3,4,5,6,7,8,9",
       "c:2:35: search_timeouts: more than 8 times are given"},
      {"max_packet_size = 12ms",
       "c:2:21: max_packet_size: '12ms' has an unknown unit; known are k, m, g, t (powers of "
       "1024)"}};
  for (const auto& c : cases)
    EXPECT_EQ(problems_of("searchd {\n" + std::string(c.line) + "\n}"), Lines{c.problem}) << c.line;
}

TEST(Read, RefusesLocalTablesInADistributedOne) {
  EXPECT_EQ(problems_of(table(" local = x\n agent = a:1")),
            Lines{"c:3:2: karmad has no local tables: without this one its data would be missing "
                  "from the answers; serve it from an agent"});
}

TEST(Read, RequiresTheTypeDistributed) {
  EXPECT_EQ(problems_of("table t {\n agent = a:1\n}"),
            Lines{"c:1:1: table 't' has agents, but no 'type = distributed'"});
  EXPECT_EQ(problems_of("table t {\n type = distribtued\n agent = a:1\n}"),
            Lines{"c:2:9: unknown type 'distribtued'; did you mean 'distributed'?"});
  EXPECT_EQ(problems_of("table t {\n type = remote\n agent = a:1\n}"),
            Lines{"c:2:9: unknown type 'remote'; karmad needs 'type = distributed'"});
}

TEST(Read, WarnsOfIgnoredKeysThatTheOperatorWillMiss) {
  EXPECT_EQ(notices_of("searchd {\n ssl_cert = a.pem\n max_children = 30\n log = x\n}\n"
                       "table t {\n type = distributed\n agent = a:1\n}\n"),
            (Lines{"c:2:2: warning: ssl_cert is ignored: tls_certificate, tls_key and "
                   "tls_client_ca encrypt",
                   "c:3:2: warning: max_children is ignored: search_tickets and update_tickets "
                   "limit the requests in progress",
                   "c:4:2: keys of searchd that karmad does not use are ignored: log"}));
}

TEST(Read, ListsWhatItIgnoresOncePerKindOfSection) {
  EXPECT_EQ(
      notices_of(
          "source s1 {\n sql_host = x\n}\nsource s2 : s1 {\n}\nindexer {\n mem_limit = 1G\n}\n"
          "common {\n}\nindex p {\n source = s1\n path = /p\n}\nindex r {\n type = rt\n}\n"
          "searchd {\n log = /l\n pid_file = /p\n binlog_path =\n}\n" +
          table(" morphology = none\n agent = a:1")),
      (Lines{
          "c:1:1: sections that karmad does not use are ignored: source s1, source s2",
          "c:6:1: sections that karmad does not use are ignored: indexer",
          "c:9:1: sections that karmad does not use are ignored: common",
          "c:11:1: tables that are not distributed are ignored: p, r",
          "c:19:2: keys of searchd that karmad does not use are ignored: log, pid_file, "
          "binlog_path",
          "c:25:2: keys of distributed tables that karmad does not use are ignored: morphology"}));
}

// An installation's file as it is found in the field: local tables, sources and a distributed one.
TEST(Read, LoadsAnExistingConfigurationWithADistributedTable) {
  const auto settings = settings_of(R"(#
# main search configuration
#
source main_base
{
    type            = mysql
    sql_host        = localhost
    sql_user        = search
    sql_pass        = se\#cret
    sql_db          = shop
    sql_query_pre   = SET NAMES utf8
    sql_query_pre   = SET SESSION query_cache_type=OFF
    sql_query       = \
        SELECT id, group_id, UNIX_TIMESTAMP(added) AS added, title, content \
        FROM documents WHERE id BETWEEN $start AND $end
    sql_attr_uint   = group_id
    sql_attr_timestamp = added
}

source main_delta : main_base
{
    sql_query_pre = SET NAMES utf8
}

index docs_0
{
    source        = main_base
    path          = /var/lib/sphinx/docs_0
    morphology    = stem_en
    min_word_len  = 2
    regexp_filter = (\d{2})/(\d{2}) => \1\2
    charset_table = 0..9, A..Z->a..z, _, a..z
}

index docs_0_delta : docs_0
{
    source = main_delta
    path   = /var/lib/sphinx/docs_0_delta
}

index docs
{
    type                  = distributed
    agent                 = search1.example:9312|search2.example:9312:docs_0,docs_0_delta
    agent                 = search3.example:9312:docs_1 | \
                            search4.example:9312:docs_1 [ha_strategy=nodeads, retry_count=3]
    agent_persistent      = 10.0.0.5:9312:docs_2
    agent_blackhole       = testbox:9312:docs_0
    agent_connect_timeout = 1000
    agent_query_timeout   = 3000
    ha_strategy           = noerrors
    mirror_retry_count    = 2
}

indexer
{
    mem_limit = 128M
}

searchd
{
    listen            = 9312
    listen            = 9306:mysql41
    listen            = /var/run/searchd.sock:mysql41
    listen            = 127.0.0.1:9308:http
    log               = /var/log/sphinx/searchd.log
    query_log         = /var/log/sphinx/query.log
    query_log_format  = sphinxql
    pid_file          = /var/run/searchd.pid
    binlog_path       = /var/lib/sphinx
    read_timeout      = 5
    client_timeout    = 300
    max_children      = 30
    persistent_connections_limit = 30
    seamless_rotate   = 1
    preopen_indexes   = 1
    unlink_old        = 1
    workers           = threads # for RT to work
    max_packet_size   = 8M
    max_filters       = 256
    max_batch_queries = 32
    thread_stack      = 1M
    rt_mem_limit      = 128M
    ha_period_karma   = 2m
    ha_ping_interval  = 3s
    mysql_version_string = 5.0.37
    collation_server  = libc_ci
    net_workers       = 1
}
)");
  ASSERT_EQ(settings.searchd.listen.size(), 4U);
  EXPECT_EQ(settings.searchd.ha_period_karma.value, 120s);
  EXPECT_EQ(settings.searchd.network_timeout.value, 5s);
  ASSERT_EQ(settings.tables.size(), 1U);
  const auto& docs = settings.tables[0];
  ASSERT_EQ(docs.shards.size(), 3U);
  EXPECT_EQ(text(docs.shards[0], docs),
            "search1.example:9312:docs_0,docs_0_delta|search2.example:9312:docs_0,docs_0_delta");
  EXPECT_EQ(text(docs.shards[1], docs),
            "search3.example:9312:docs_1|search4.example:9312:docs_1 [ha_strategy=nodeads, "
            "retry_count=3]");
  EXPECT_EQ(docs.blackholes.size(), 1U);
  EXPECT_EQ(docs.agent_retry_count.value().value, 2U);
  const auto notices = lines(settings.notices);
  EXPECT_EQ(notices.size(), 6U);
  for (const char* part : {"source main_base, source main_delta", "ignored: docs_0, docs_0_delta",
                           "ignored: indexer", "workers = threads is ignored",
                           "keys of searchd that karmad does not use are ignored: log, query_log",
                           "warning: max_children is ignored"})
    EXPECT_TRUE(mentions(notices, part)) << part;
}

}  // namespace
}  // namespace karmad
