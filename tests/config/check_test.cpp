#include "config/check.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

std::string searchd(std::string_view body) {
  return "searchd {\n" + std::string(body) + "\n}\n";
}

TEST(Check, HoldsNumbersToTheirBounds) {
  struct {
    const char* line;
    const char* problem;  // empty: allowed
  } const cases[] = {
      {"ha_period_karma = 0", "c:2:19: ha_period_karma is shorter than one second: 0"},
      {"ha_period_karma = 500ms", "c:2:19: ha_period_karma is shorter than one second: 500ms"},
      {"ha_period_karma = 1", ""},
      {"ha_period_karma = 2d", "c:2:19: ha_period_karma is longer than 1d: 2d"},
      {"ha_ping_interval = 0", ""},  // HA-012: no pings
      {"ha_ping_interval = 1", "c:2:20: ha_ping_interval is shorter than 10ms: 1ms"},
      {"ping_timeout = 0", "c:2:16: ping_timeout is shorter than 1ms: 0"},
      {"agent_connect_timeout = 0", "c:2:25: agent_connect_timeout is shorter than 1ms: 0"},
      {"agent_query_timeout = 0", "c:2:23: agent_query_timeout is shorter than 1ms: 0"},
      {"agent_retry_count = 101", "c:2:21: agent_retry_count is larger than 100: 101"},
      {"agent_retry_delay = 0", ""},
      {"request_timeout = 0", "c:2:19: request_timeout is shorter than 1ms: 0"},
      {"max_header_count = 0", "c:2:20: max_header_count is smaller than 1: 0"},
      {"max_header_count = 128", ""},
      {"max_header_count = 129", "c:2:20: max_header_count is larger than 128: 129"},
      {"max_packet_size = 1023", "c:2:19: max_packet_size is smaller than 1k: 1023"},
      {"max_packet_size = 5g", "c:2:19: max_packet_size is larger than 4g: 5g"},
      {"workers = 0", ""},
      {"workers = auto", ""},
      {"workers = 1025", "c:2:11: workers is larger than 1024: 1025"},
      {"max_connections = 0", ""},
      {"listen_backlog = 0", "c:2:18: listen_backlog is smaller than 1: 0"},
      {"shutdown_timeout = 0", ""},
      {"client_timeout = 0", "c:2:18: client_timeout is shorter than 1ms: 0"},
      {"local_threshold = 0", ""},
      {"local_threshold = 1h", ""},
      {"local_threshold = 2h", "c:2:19: local_threshold is longer than 1h: 2h"},
      {"selection_timeout = 0", ""},
      {"selection_timeout = 1m", ""},  // longer than request_timeout, which may end it
      {"selection_timeout = 2d", "c:2:21: selection_timeout is longer than 1d: 2d"},
      {"max_waiting_selections = 0", ""},
      {"ingress_request_burst = 0", "c:2:25: ingress_request_burst is shorter than 1ms: 0"},
      {"ingress_request_rate = 6/m",
       "c:2:24: ingress_request_rate = 6/m admits nothing: ingress_request_burst = 1s is too short "
       "to save up one; make it at least 10s"},
      {"client_request_rate = 6/m\n client_request_burst = 10s", ""},
      {"auth_failure_burst = 1ms",
       "c:2:22: auth_failure_rate = 1/s admits nothing: auth_failure_burst = 1ms is too short to "
       "save up one; make it at least 1s"},
      {"outlier_longest_time = 1s",
       "c:2:24: outlier_time (10s) is longer than outlier_longest_time (1s)"},
      {"keep_host = Yes", ""},
      {"client_request_remembered = 0", "c:2:29: client_request_remembered is smaller than 1: 0"},
      {"ingress_connection_rate = 0",
       "c:2:27: ingress_connection_rate: a rate is at least 1; write unlimited for no limit"},
      {"ingress_connection_bypass = ::1, 10.0.0.0/40",
       "c:2:43: ingress_connection_bypass: '10.0.0.0/40': the length of the prefix is a number "
       "from 0 to 32"},
      {"max_waiting_selections = 1000001",
       "c:2:26: max_waiting_selections is larger than 1000000: 1000001"},
      {"max_attempts = 0", "c:2:16: max_attempts is smaller than 1: 0"},
      {"max_attempts = 101", "c:2:16: max_attempts is larger than 100: 101"},
      {"overload_max_retries = 10", ""},
      {"overload_max_retries = 11", "c:2:24: overload_max_retries is larger than 10: 11"},
      {"overload_backoff_base = 0", "c:2:25: overload_backoff_base is shorter than 1ms: 0"},
      {"throttle_max_retries = 101", "c:2:24: throttle_max_retries is larger than 100: 101"},
      {"throttle_max_wait = 0", ""},
      {"retry_budget_percent = 100", ""},
      {"retry_budget_percent = 101", "c:2:24: retry_budget_percent is larger than 100: 101"},
      {"hedge_max = 8", ""},
      {"hedge_max = 9", "c:2:13: hedge_max is larger than 8: 9"},
      {"hedge_step = 0", "c:2:14: hedge_step is shorter than 1ms: 0"},
      {"agent_first_byte_timeout = 0", "c:2:28: agent_first_byte_timeout is shorter than 1ms: 0"},
      {"search_timeouts = 3s, 1s", ""},  // need not ascend
      {"search_timeouts = 1s, 0", "c:2:19: search_timeouts is shorter than 1ms: 0"},
      {"search_timeouts = 2h", "c:2:19: search_timeouts is longer than 1h: 2h"},
      {"breaker_reads = 0", ""},
      {"breaker_window = 0", "c:2:18: breaker_window is shorter than one second: 0"},
      {"unavailable_for = 0", ""},
      {"ingress_tickets = 0", ""},  // AC-060
      {"search_tickets = 0", ""},
      {"update_tickets = AUTO", ""},
      {"search_tickets = unlimited", ""},
      {"search_tickets = 1000000001",
       "c:2:18: search_tickets is larger than 1000000000: 1000000001"},
      {"search_tickets = some",
       "c:2:18: search_tickets: 'some' is neither auto, unlimited nor a number of tickets"},
      {"ticket_queue_depth = 0", ""},  // AC-011
      {"ticket_queue_timeout = 0", "c:2:24: ticket_queue_timeout is shorter than 1ms: 0"},
      {"ticket_queue_discipline = random",
       "c:2:27: ticket_queue_discipline: 'random' is not one of fifo, lifo, codel"},
      {"throughput_probing_min_concurrency = 0",
       "c:2:38: throughput_probing_min_concurrency is smaller than 1: 0"},
      {"throughput_probing_min_concurrency = 128", ""},
      {"throughput_probing_min_concurrency = 129",
       "c:2:38: throughput_probing_min_concurrency is larger than "
       "throughput_probing_max_concurrency (128): 129"},
      {"throughput_probing_max_concurrency = 3",
       "c:2:38: throughput_probing_max_concurrency is smaller than "
       "throughput_probing_min_concurrency (4): 3"},
      {"throughput_probing_read_write_ratio = 0", ""},
      {"throughput_probing_read_write_ratio = 1.0", ""},
      {"throughput_probing_read_write_ratio = 1.5",
       "c:2:39: throughput_probing_read_write_ratio is larger than 1: 1.5"},
      {"throughput_probing_read_write_ratio = -1",
       "c:2:39: throughput_probing_read_write_ratio: '-1' is not a number such as 0.5"},
      {"throughput_probing_read_write_ratio = nan",
       "c:2:39: throughput_probing_read_write_ratio: 'nan' is not a number such as 0.5"},
      {"throughput_probing_concurrency_moving_average_weight = 0",
       "c:2:56: throughput_probing_concurrency_moving_average_weight must be more than 0"},
      {"throughput_probing_concurrency_moving_average_weight = 1", ""},
      {"throughput_probing_step_multiple = 0.009",
       "c:2:36: throughput_probing_step_multiple is smaller than 0.01: 0.009"},
      {"throughput_probing_step_multiple = 0.51",
       "c:2:36: throughput_probing_step_multiple is larger than 0.5: 0.51"},
      {"throughput_probing_evidence = 0", ""},
      {"throughput_probing_evidence_step = 1.01",
       "c:2:36: throughput_probing_evidence_step is larger than 1: 1.01"},
      {"throughput_probing_evidence_gain = 1.01",
       "c:2:36: throughput_probing_evidence_gain is larger than 1: 1.01"},
      {"throughput_probing_concurrency_adjustment_interval = 9ms",
       "c:2:54: throughput_probing_concurrency_adjustment_interval is shorter than 10ms: 9ms"},
      {"access_log_sample = 0", ""},
      {"access_log_sample = 1.5", "c:2:21: access_log_sample is larger than 1: 1.5"},
      {"takeover_socket = /run/karmad/takeover", ""},
      {"takeover_socket = takeover",
       "c:2:19: takeover_socket is not the path of a unix socket, as in /run/karmad/takeover: "
       "'takeover'"},
      {"takeover_socket = /run/a b",
       "c:2:19: takeover_socket: ' ' cannot be part of a socket's path"},
      {"listen = /run/k\ntakeover_socket = /run/k",
       "c:3:19: takeover_socket is also the path of the listen in c:2:10"},
      {"drain_delay = 5", ""},
      {"ping_type = none\nha_ping_interval = 1s", ""},
      {"ping_path = healthz", "c:2:13: ping_path is not the path of a URL: 'healthz'"},
      {"ping_path = /a b", "c:2:13: ping_path is not the path of a URL: '/a b'"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(problems_of(searchd(c.line)), *c.problem == '\0' ? Lines{} : Lines{c.problem})
        << c.line;
}

TEST(Check, HoldsATablesNumbersToTheSameBounds) {
  EXPECT_EQ(problems_of(table(" agent = a:1\n agent_query_timeout = 0\n agent_retry_count = 101")),
            (Lines{"c:4:24: agent_query_timeout is shorter than 1ms: 0",
                   "c:5:22: agent_retry_count is larger than 100: 101"}));
}

TEST(Check, NamesASettingOutOfItsBoundsAsItIsWritten) {
  EXPECT_EQ(problems_of(searchd("read_timeout = 0\nmirror_retry_count = 102") +
                        table(" agent = a:1\n mirror_retry_count = 103")),
            (Lines{"c:2:16: read_timeout is shorter than 1ms: 0",
                   "c:3:22: mirror_retry_count is larger than 100: 102",
                   "c:8:23: mirror_retry_count is larger than 100: 103"}));
  EXPECT_EQ(problems_of(searchd("read_timeout = 1\nnetwork_timeout = 25h")),
            Lines{"c:3:19: network_timeout is longer than 1d: 25h"});
}

TEST(Check, HoldsALimitOfStalenessToItsBounds) {  // SS-040, SS-042, SS-044
  struct {
    const char* limit;
    const char* problem;  // empty: allowed
  } const cases[] = {
      {"-1", ""},
      {"1", ""},  // SS-042: too small a value is no error until it is used
      {"90s", ""},
      {"365d", ""},
      {"0", "max_staleness: it must not be 0; write -1 for no limit"},
      {"0ms", "max_staleness: it must not be 0; write -1 for no limit"},
      {"-2", "max_staleness: '-2' must not be negative"},
      {"500ms", "max_staleness is shorter than one second: 500ms"},
      {"1500ms", "max_staleness is not a whole number of seconds: 1500ms"},
      {"366d", "max_staleness is longer than 365d: 366d"},
  };
  for (const auto& c : cases) {
    const auto body = fmt::format("read_preference = nearest\nmax_staleness = {}", c.limit);
    const auto wanted = [&](const char* place) {
      return *c.problem == '\0' ? Lines{} : Lines{fmt::format("{}: {}", place, c.problem)};
    };
    EXPECT_EQ(problems_of(searchd(body)), wanted("c:3:17")) << c.limit;
    EXPECT_EQ(problems_of(table("agent = a:1\n" + body)), wanted("c:5:17")) << c.limit;
  }
}

TEST(Check, WantsTheModeBesideTagSetsAndStaleness) {  // SS-081: the most specific wins whole
  EXPECT_EQ(problems_of(searchd("tag_sets = dc:ny\nmax_staleness = 90")),
            (Lines{"c:2:12: tag_sets needs a read_preference beside it in searchd, as in "
                   "read_preference = nearest",
                   "c:3:17: max_staleness needs a read_preference beside it in searchd, as in "
                   "read_preference = nearest"}));
  EXPECT_EQ(
      problems_of(searchd("read_preference = nearest") + table(" agent = a:1\n tag_sets = dc:ny")),
      Lines{"c:7:13: tag_sets needs a read_preference beside it in table 't', as in "
            "read_preference = nearest"});
  EXPECT_EQ(problems_of(searchd("read_preference = nearest\ntag_sets = dc:ny") +
                        table(" agent = a:1\n read_preference = primary")),
            Lines{});
}

TEST(Check, WantsAPathToPingInTablesAndLinesToo) {
  EXPECT_EQ(problems_of(table(" agent = a:1[ping_path=p]\n agent_blackhole = b:1[ping_path=q]\n"
                              " ping_path = r")),
            (Lines{"c:3:24: ping_path is not the path of a URL: 'p'",
                   "c:4:34: ping_path is not the path of a URL: 'q'",
                   "c:5:14: ping_path is not the path of a URL: 'r'"}));
}

TEST(Check, ReportsAllProblemsInOneGoInTheOrderOfTheFile) {
  EXPECT_EQ(problems_of(searchd("ha_period_karma = 0\nfoo_bar_x = 1\nping_timeout = x") +
                        table(" agent = a:70000\n agent = b:1")),
            (Lines{"c:2:19: ha_period_karma is shorter than one second: 0",
                   "c:3:1: unknown key 'foo_bar_x'",
                   "c:4:16: ping_timeout: 'x' does not begin with a whole number",
                   "c:8:12: port 70000 is larger than 65535"}));
}

TEST(Check, RefusesTheSameListenTwice) {
  struct {
    const char* first;
    const char* second;
    bool clash;
  } const cases[] = {{"9308", "9308", true},
                     {"127.0.0.1:9308", "127.0.0.1:9308:http", true},
                     {"9308", "127.0.0.1:9308", true},
                     {"127.0.0.1:9308", "0.0.0.0:9308", true},
                     {"/run/a", "/run/a", true},
                     {"127.0.0.1:9308", "127.0.0.1:9309", false},
                     {"127.0.0.1:9308", "127.0.0.2:9308", false},
                     {"127.0.0.1:0", "127.0.0.1:0", false},
                     {"/run/a", "/run/b", false}};
  for (const auto& c : cases)
    EXPECT_EQ(
        mentions(problems_of(searchd(fmt::format("listen = {}\nlisten = {}", c.first, c.second))),
                 "is already used by the listen in c:2:10"),
        c.clash)
        << c.first << " " << c.second;
}

TEST(Check, WantsAnAgentThatAnswersInEveryTable) {
  EXPECT_EQ(problems_of(table("")),
            Lines{"c:1:1: table 't' needs a line of agent or agent_persistent, or discovery"});
  EXPECT_EQ(problems_of(table(" agent_blackhole = a:1")),
            Lines{"c:1:1: table 't' needs a line of agent or agent_persistent, or discovery"});
  EXPECT_EQ(problems_of(table(" discovery = fil /x")),
            Lines{"c:3:14: discovery: 'fil' is not one of file, etcd, kubernetes; did you mean "
                  "'file'?"});
}

TEST(Check, DoesNotCallATableEmptyBecauseOfAMisplacedBlackhole) {
  EXPECT_EQ(
      problems_of(table(" agent = a:1[blackhole=1]|b:1")),
      Lines{"c:3:14: blackhole holds for the whole line: it belongs in the bracket at the end "
            "of the line"});
  EXPECT_EQ(problems_of(table(" agent = a:1|b:1[weight=2,blackhole=1]")),
            Lines{"c:3:27: a bracket holds options of a mirror or of the line, never both; write "
                  "[weight=…][blackhole=…]"});
}

TEST(Check, RefusesMoreThan64Mirrors) {
  std::string line = " agent = h0:1:t";
  for (int i = 1; i < 64; ++i) line += fmt::format("|h{}:1:t", i);
  EXPECT_EQ(problems_of(table(line)), Lines{});
  const auto problems = problems_of(table(line + "|h64:1:t"));
  EXPECT_EQ(problems, Lines{fmt::format("c:3:{}: a line has at most 64 mirrors, this one has 65",
                                        line.size() + 2)});
}

TEST(Check, NoticesWhatIsAllowedButHardlyMeant) {
  struct {
    std::string text;
    const char* notice;
  } const cases[] = {
      {searchd("agent_retry_count = 20"), "c:2:21: 20 retries: more than 8 rarely help"},
      {searchd("listen = 10.1.1.1:9399:http,proxy"),
       "c:2:10: 10.1.1.1:9399:http,proxy believes the PROXY header of everyone who can connect to "
       "it: set trusted_proxies"},
      {searchd("agent_retry_delay = 5000"),
       "c:2:21: agent_retry_delay is longer than one second: 5s"},
      {searchd("agent_connect_timeout = 20s"),
       "c:2:25: agent_connect_timeout (20s) can never be reached: request_timeout ends the whole "
       "request after 10s"},
      {searchd("request_timeout = 2s"),
       "c:2:19: agent_query_timeout (3s) can never be reached: request_timeout ends the whole "
       "request after 2s"},
      {searchd("agent_first_byte_timeout = 11s"),
       "c:2:28: agent_first_byte_timeout (11s) can never be reached: request_timeout ends the "
       "whole request after 10s"},
      {table(" agent = a:1\n search_timeouts = 1s, 11s"),
       "c:4:20: search_timeouts (11s) can never be reached: request_timeout ends the whole request "
       "after 10s"},
      {searchd("overload_backoff_base = 20s"),
       "c:2:25: overload_backoff_base (20s) is longer than overload_backoff_cap (10s)"},
      {searchd("ping_timeout = 2s"),
       "c:2:16: ping_timeout (2s) is longer than ha_ping_interval (1s)"},
      {searchd("ha_ping_interval = 2m"),
       "c:2:20: ha_ping_interval (2m) is longer than ha_period_karma (1m)"},
      {searchd("max_packet_size = 8k"),
       "c:2:19: max_header_size (16k) is larger than max_packet_size (8k)"},
      {searchd("overload_backoff_cap = 10ms"),
       "c:2:24: overload_backoff_base (100ms) is longer than overload_backoff_cap (10ms)"},
      {searchd("ticket_queue_interval = 1ms"),
       "c:2:25: ticket_queue_target (20ms) is longer than ticket_queue_interval (1ms)"},
      {searchd("throughput_probing_evidence_gain = 0.2"),
       "c:2:36: warning: throughput_probing_evidence_gain has no effect: neither search_tickets"},
      {table(" agent = a:1|b:1\n hedge = 50ms\n hedge_max = 0"),
       "c:4:10: warning: hedge has no effect: hedge_max = 0"},
      {searchd("auth_failure_burst = 5s"), "c:2:22: warning: auth_failure_burst has no effect"},
      {searchd("auth = bearer /t\n auth_remembered = 7"),
       "c:3:20: warning: auth_remembered has no effect: no listener has auth = basic"},
      {searchd("agent_tls_name = x.example"),
       "c:2:18: warning: agent_tls_name has no effect: no agent has agent_tls = yes"},
      {searchd("agent_tls = yes") + table(" agent = a:1[agent_tls=no]\n agent_tls = no\n"
                                          " agent_tls_certificate = /c.pem"),
       "c:8:26: warning: agent_tls_certificate has no effect: no agent of the table has agent_tls"},
      {table(" agent = a:1\n ha_strategy = nodeads"),
       "c:4:16: ha_strategy has no effect: each shard of the table has one agent"},
      {table(" agent = a:1[ha_strategy=nodeads]"),
       "c:3:26: ha_strategy has no effect: the line has one agent"},
      {table(" agent = a:1[retry_count=9]"), "c:3:10: 9 retries: more than 8 rarely help"},
      {searchd("agent_retry_count = 4\n max_attempts = 6") + table(" agent = a:1|b:1"),
       "makes 9 attempts, but max_attempts = 6 in c:3:17 ends them"},
      {table(" agent = a:1|b:1[retry_count=7]\n max_attempts = 3"),
       "retry_count=7 makes 8 attempts, but max_attempts = 3 in c:4:17 ends them"},
      {searchd("overload_max_retries = 10\n max_attempts = 6") + table(" agent = a:1"),
       "c:2:24: overload_max_retries = 10 makes 11 attempts, but max_attempts = 6 in c:3:17 ends "
       "them"},
      {searchd("throttle_max_retries = 3") + table(" agent = a:1\n max_attempts = 3"),
       "c:2:24: throttle_max_retries = 3 makes 4 attempts, but max_attempts = 3 in c:7:17 ends "
       "them"},
      {searchd("search_timeouts = 1s,1s,1s,2s\n max_attempts = 3") + table(" agent = a:1"),
       "search_timeouts with 4 steps makes 4 attempts, but max_attempts = 3 in c:3:17 ends them"},
      {table(" agent = a:1:x|a:1:x"), "c:3:16: a:1 is already a mirror of this line"},
      {table(" agent = a:1\n agent_query_timeout = 1m"),
       "c:4:24: agent_query_timeout (1m) can never be reached: request_timeout ends the whole "
       "request after 10s"},
      {searchd("persistent_connections_limit = 0") + table(" agent_persistent = a:1"),
       "c:6:21: no connection is kept: persistent_connections_limit is 0"},
      {searchd("throughput_probing_initial_concurrency = 7"),  // AC-020
       "c:2:42: throughput_probing_initial_concurrency (7) is not within 8 … 256: the nearest of "
       "them is taken"},
      {searchd("search_tickets = auto\nthroughput_probing_initial_concurrency = 129"),
       "c:3:42: throughput_probing_initial_concurrency (129) is not within 4 … 128: the nearest "
       "of them is taken"},
      {searchd("ticket_queue_timeout = 11s"),
       "c:2:24: ticket_queue_timeout (11s) can never be reached: request_timeout ends the whole "
       "request after 10s"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(problems_of(c.text), Lines{}) << c.text;
    EXPECT_TRUE(mentions(notices_of(c.text), c.notice))
        << c.notice << " in " << testing::PrintToString(notices_of(c.text));
  }
}

TEST(Check, FindsNoProblemInASensibleConfiguration) {
  EXPECT_EQ(notices_of(searchd("listen = 127.0.0.1:9308\nha_strategy = noerrors") +
                       table(" agent = a:9308|b:9308:x\n agent = c:9308|d:9308:y")),
            Lines{});
}

TEST(Check, LeavesNamesOfStrategiesAndTheLikeToThoseWhoKnowThem) {
  const auto loaded =
      load_text(table(" ha_strategy = fastest\n dialect = klingon\n agent = a:1|b:1\n"
                      " read_preference = anywhere\n ping_type = sonar"));
  ASSERT_TRUE(loaded.settings);
  const auto& t = loaded.settings->tables.at(0);
  EXPECT_EQ(t.ha_strategy->value, "fastest");
  EXPECT_EQ(text(t.ha_strategy->at), "c:3:16");
  EXPECT_EQ(t.dialect.value, "klingon");
  EXPECT_EQ(text(t.dialect.at), "c:4:12");
  EXPECT_EQ(t.read_preference.value().value, "anywhere");
  EXPECT_EQ(text(t.read_preference.value().at), "c:6:20");
  EXPECT_EQ(t.ping_type.value, "sonar");
}

TEST(Check, RefusesAnAgentAtAnAddressWithoutServers) {
  const auto problems =
      lines(load_text(table(" agent = 255.255.255.255:1|[ff02::1]:1:t")).problems);
  EXPECT_EQ(problems, (Lines{"c:3:10: no agent has the broadcast address 255.255.255.255",
                             "c:3:28: no agent has the multicast address ff02::1"}));
}

TEST(Check, RefusesAnAgentThatIsKarmadItself) {
  struct {
    const char* listen;
    const char* agent;
    bool same;
  } const cases[] = {
      {"127.0.0.1:9308", "127.0.0.1:9308:t", true},
      {"127.0.0.1:9308", "localhost:9308:t", true},
      {"9308", "127.0.0.1:9308:t", true},
      {"0.0.0.0:9308", "localhost:9308:t", true},
      {"9308", "10.0.0.1:9308:t", false},
      {"127.0.0.1:9308", "127.0.0.1:9309:t", false},
      {"127.0.0.1:9308", "127.0.0.2:9308:t", false},
      {"10.0.0.1:9308", "10.0.0.1:9308:t", true},
      {"/tmp/a.sock", "/tmp/a.sock:t", true},
      {"/tmp/a.sock", "/tmp/b.sock:t", false},
  };
  for (const auto& c : cases) {
    const auto problems = problems_of(searchd(std::string(" listen = ") + c.listen) +
                                      table(std::string(" agent = ") + c.agent));
    EXPECT_EQ(problems.size(), c.same ? 1u : 0u) << c.listen << " " << c.agent;
    if (!c.same || problems.empty()) continue;
    EXPECT_NE(problems[0].find("karmad itself"), std::string::npos) << problems[0];
  }
}

TEST(Check, NamesLimitsThatHaveNoEffect) {
  EXPECT_EQ(notices_of(searchd(" admission = off\n search_tickets = 5\n") +
                       table(" request_rate = 5/s\n agent = a:1[max_in_flight=4]")),
            (Lines{"c:3:19: warning: search_tickets has no effect: admission = off (c:2:14)",
                   "c:8:17: warning: request_rate has no effect: admission = off (c:2:14)",
                   "c:9:28: warning: max_in_flight has no effect: admission = off (c:2:14)"}));
}

TEST(Check, SaysNothingOfTlsAndCredentialsThatAreUsed) {
  const auto with_one =
      searchd(
          "listen = 1:http,users=/u\n auth_failure_rate = 3/s\n auth_remembered = 9\n"
          " agent_tls_ca = /ca.pem") +
      table(
          " agent = a:1|b:2[agent_tls=unverified]\n"
          " agent_tls_certificate = /c.pem");
  EXPECT_FALSE(mentions(notices_of(with_one), "has no effect"))
      << testing::PrintToString(notices_of(with_one));
}

TEST(Check, RefusesNamesOfClientsThatNobodyIsAskedFor) {
  const std::string names = "tls_certificate = /a.pem\ntls_client_names = app.example\n";
  EXPECT_TRUE(
      mentions(problems_of(searchd(names)), "c:3:20: tls_client_names needs tls_client_ca"));
  EXPECT_FALSE(mentions(problems_of(searchd(names + "tls_client_ca = /b.pem\n")), "needs"));
}

// A mistake of a generated file is in each of its tables.
TEST(Check, TellsOnceWhatIsTheSameInManyPlaces) {
  const auto notices_with = [](std::size_t tables) {
    std::string text;
    for (std::size_t i = 1; i <= tables; ++i)
      text +=
          fmt::format("table t{} {{\n type = distributed\n breaker = 1\n agent = a{}\n}}\n", i, i);
    return lines(load_text(text).settings->notices);
  };
  constexpr std::string_view kPort = ":10: the agent has no port; 9308 is used";
  constexpr std::string_view kBreaker =
      ":12: warning: breaker has no effect: each shard of the table has one agent";
  const auto few = notices_with(3);
  ASSERT_EQ(few.size(), 6U);
  for (const std::size_t i : {0U, 2U, 4U}) {
    EXPECT_TRUE(few[i].ends_with(kBreaker)) << few[i];
    EXPECT_TRUE(few[i + 1].ends_with(kPort)) << few[i + 1];
  }
  for (const std::size_t tables : {4U, 1000U}) {
    const auto many = notices_with(tables);
    ASSERT_EQ(many.size(), 2U) << tables;
    const auto also = fmt::format("; also in {} more places, such as c:", tables - 1);
    EXPECT_EQ(many[0], fmt::format("c:3{}{}8:12 and c:13:12", kBreaker, also));
    EXPECT_EQ(many[1], fmt::format("c:4{}{}9:10 and c:14:10", kPort, also));
  }
}

}  // namespace
}  // namespace karmad
