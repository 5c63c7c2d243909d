#include "config/read.hpp"

#include <gtest/gtest.h>

#include "config/agent_line.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

Settings settings_of(const std::string& text) {
  auto loaded = load_text(text);
  for (const auto& problem : loaded.problems) ADD_FAILURE() << karmad::text(problem);
  return loaded.settings.value_or(Settings{});
}

TEST(Read, GivesTheDefaultsWhenNothingIsSet) {  // HA-002, HA-009, HA-012, HA-026
  const auto settings = settings_of("searchd {\n}\n");
  const auto& s = settings.searchd;
  ASSERT_EQ(s.listen.size(), 1U);
  EXPECT_EQ(text(s.listen[0].address), "127.0.0.1:9308");
  EXPECT_EQ(text(s.listen[0].at), "default");
  EXPECT_FALSE(s.ha_strategy) << "X-5: it depends on the read preference";
  EXPECT_EQ(s.ha_period_karma.value, 60s);
  EXPECT_EQ(s.ha_ping_interval.value, 1s);
  EXPECT_EQ(s.agent_connect_timeout.value, 1s);
  EXPECT_EQ(s.agent_query_timeout.value, 3s);
  EXPECT_FALSE(s.agent_retry_count);
  EXPECT_EQ(s.agent_retry_delay.value, 500ms);
  EXPECT_EQ(s.request_timeout.value, 10s);
  EXPECT_EQ(lines(settings.notices),
            Lines{"warning: there is no distributed table: nothing can be searched"});
}

TEST(Read, AsksForNothingOfAMirrorUnlessTold) {  // SS-010, SS-013, SS-030
  const auto s = settings_of("searchd {\n}\n").searchd;
  EXPECT_EQ(s.ping_type.value, "http");
  EXPECT_FALSE(s.ping_path);
  EXPECT_FALSE(s.read_preference);
  EXPECT_FALSE(s.tag_sets);
  EXPECT_FALSE(s.max_staleness);
  EXPECT_EQ(s.local_threshold.value, 15ms);
  EXPECT_EQ(s.selection_timeout.value, 30s);
  EXPECT_EQ(s.max_waiting_selections.value, 1024U);
  EXPECT_EQ(s.selection_log_level.value, LogLevel::info);
  EXPECT_FALSE(s.tags_in_flat.value);
}

TEST(Read, SetsWhatReadsAskOfAMirrorInItsUnit) {  // SS-010, SS-013, SS-080, SS-113
  const auto s = settings_of(
                     "searchd {\n ping_type = native\n read_preference = secondaryPreferred\n"
                     " tag_sets = dc:NY,rack:2|\n max_staleness = 120\n local_threshold = 20\n"
                     " selection_timeout = 2000\n max_waiting_selections = 0\n"
                     " selection_log_level = DEBUG\n tags_in_flat = 1\n}")
                     .searchd;
  EXPECT_EQ(s.ping_type.value, "native");
  EXPECT_EQ(s.read_preference.value().value, "secondaryPreferred") << "in its case";
  EXPECT_EQ(text(s.read_preference.value().at), "c:3:20");
  EXPECT_EQ(s.tag_sets.value().value, "dc:NY,rack:2|");
  EXPECT_EQ(s.max_staleness.value().value, 120s);
  EXPECT_EQ(s.local_threshold.value, 20ms);
  EXPECT_EQ(s.selection_timeout.value, 2s);
  EXPECT_EQ(s.max_waiting_selections.value, 0U);
  EXPECT_EQ(s.selection_log_level.value, LogLevel::debug);
  EXPECT_TRUE(s.tags_in_flat.value);
}

TEST(Read, SetsWhatReadsAskOfAMirrorForOneTable) {  // SS-080
  const auto settings = settings_of(
      table(" agent = a:1\n ping_type = solr\n ping_path = /p\n read_preference = nearest\n"
            " tag_sets = dc:ny\n max_staleness = -1\n updates = any"));
  const auto& t = settings.tables.at(0);
  EXPECT_EQ(t.ping_type.value().value, "solr");
  EXPECT_EQ(t.ping_path.value().value, "/p");
  EXPECT_EQ(t.read_preference.value().value, "nearest");
  EXPECT_EQ(t.tag_sets.value().value, "dc:ny");
  EXPECT_EQ(t.max_staleness.value().value, 0s) << "SS-040: written -1, no limit";
  EXPECT_EQ(t.updates.value, Updates::any);
  const auto plain = settings_of(table(" agent = a:1"));
  EXPECT_EQ(plain.tables.at(0).updates.value, Updates::primary);
}

TEST(Read, LetsEverybodyInUnlessTold) {  // AC-004, AC-011, AC-015, AC-020, AC-060
  const auto s = settings_of("searchd {\n}\n").searchd;
  EXPECT_EQ(s.admission.value, AdmissionMode::enforce);
  EXPECT_EQ(s.ingress_tickets.value, 1'000'000U);
  EXPECT_EQ(s.search_tickets.value, TicketCount{});
  EXPECT_EQ(s.update_tickets.value.kind, TicketCount::Kind::unlimited);
  EXPECT_FALSE(s.ticket_queue_depth);
  EXPECT_FALSE(s.ticket_queue_timeout);
  EXPECT_EQ(s.ticket_queue_discipline.value, QueueOrder::lifo);
  EXPECT_FALSE(s.low_priority.value);
  EXPECT_EQ(s.low_priority_tickets.value, 4U);                 // AC-007
  EXPECT_EQ(s.ingress_request_exempt_apps.value, AppNames{});  // AC-056
  EXPECT_EQ(s.ticket_resize.value, TicketResize::gradual);
  EXPECT_EQ(s.ticket_delinquent_after.value, 30ms);
  EXPECT_EQ(s.throughput_probing_initial_concurrency.value, 0U);
  EXPECT_EQ(s.throughput_probing_min_concurrency.value, 4U);
  EXPECT_EQ(s.throughput_probing_max_concurrency.value, 128U);
  EXPECT_EQ(s.throughput_probing_read_write_ratio.value, 0.5);
  EXPECT_EQ(s.throughput_probing_concurrency_moving_average_weight.value, 0.2);
  EXPECT_EQ(s.throughput_probing_step_multiple.value, 0.1);
  EXPECT_EQ(s.throughput_probing_evidence.value, 100U);
  EXPECT_EQ(s.throughput_probing_evidence_step.value, 0.2);
  EXPECT_EQ(s.throughput_probing_evidence_gain.value, 0.15);
  EXPECT_EQ(s.throughput_probing_stall_detection_timeout.value, 60s);
  EXPECT_EQ(s.throughput_probing_concurrency_adjustment_interval.value, 100ms);
}

TEST(Read, SetsTheTicketsInTheirWordsAndNumbers) {
  const auto s = settings_of(
                     "searchd {\n search_tickets = Auto\n update_tickets = 12\n"
                     " ticket_queue_discipline = CODEL\n admission = off\n"
                     " throughput_probing_read_write_ratio = .67\n}")
                     .searchd;
  EXPECT_EQ(s.search_tickets.value.kind, TicketCount::Kind::automatic);
  EXPECT_EQ(s.update_tickets.value, (TicketCount{TicketCount::Kind::fixed, 12}));
  EXPECT_EQ(s.ticket_queue_discipline.value, QueueOrder::codel);
  EXPECT_EQ(s.admission.value, AdmissionMode::off);
  EXPECT_EQ(s.throughput_probing_read_write_ratio.value, 0.67);
}

TEST(Read, HasTheDefaultsOfOverloadAndFaults) {  // BP-004 … BP-008, BP-020, CO-020, CO-033, CO-090
  const auto s = settings_of("searchd {\n}\n").searchd;
  EXPECT_TRUE(s.retry_reads.value);
  EXPECT_TRUE(s.retry_writes.value);
  EXPECT_FALSE(s.max_attempts);
  EXPECT_EQ(s.overload_max_retries.value, 5U);
  EXPECT_EQ(s.overload_backoff_base.value, 100ms);
  EXPECT_EQ(s.overload_backoff_cap.value, 10s);
  EXPECT_TRUE(s.overload_retarget.value);
  EXPECT_FALSE(s.adaptive_retries.value);
  EXPECT_EQ(s.throttle_max_retries.value, 9U);
  EXPECT_EQ(s.throttle_max_wait.value, 3s);
  EXPECT_EQ(s.unavailable_for.value, 5min);
  EXPECT_EQ(s.retry_budget_percent.value, 20U);
  EXPECT_EQ(s.retry_budget_min.value, 3U);
  EXPECT_EQ(s.hedge.value, "off");
  EXPECT_FALSE(s.hedge_step);
  EXPECT_EQ(s.hedge_max.value, 1U);
  EXPECT_FALSE(s.hedge_disabled.value);
  EXPECT_TRUE(s.interrupt_unreachable.value);
  EXPECT_EQ(s.hedge_max_load_percent.value, 200U);
  EXPECT_FALSE(s.agent_first_byte_timeout);
  EXPECT_FALSE(s.search_timeouts);
  EXPECT_FALSE(s.breaker.value);
  EXPECT_EQ(s.breaker_reads.value, 10U);
  EXPECT_EQ(s.breaker_writes.value, 5U);
  EXPECT_EQ(s.breaker_window.value, 5min);
  EXPECT_FALSE(s.access_log);
}

TEST(Read, SetsWhatIsDoneAboutOverloadAndFaultsInItsUnit) {
  const auto s =
      settings_of(
          "searchd {\n retry_reads = 0\n retry_writes = 0\n max_attempts = 3\n"
          " overload_max_retries = 2\n overload_backoff_base = 50\n overload_backoff_cap = 2000\n"
          " overload_retarget = 0\n adaptive_retries = 1\n throttle_max_retries = 4\n"
          " throttle_max_wait = 700\n unavailable_for = 60\n retry_budget_percent = 10\n"
          " retry_budget_min = 0\n hedge = p95\n hedge_step = 20\n hedge_max = 2\n"
          " interrupt_unreachable = 0\n hedge_disabled = 1\n hedge_max_load_percent = 0\n "
          "agent_first_byte_timeout = 80\n"
          " search_timeouts = 300, 1s ,3s\n breaker = 1\n breaker_reads = 7\n"
          " breaker_writes = 0\n breaker_window = 30\n access_log = -\n}")
          .searchd;
  EXPECT_FALSE(s.retry_reads.value);
  EXPECT_FALSE(s.retry_writes.value);
  EXPECT_EQ(s.max_attempts.value().value, 3U);
  EXPECT_EQ(s.overload_max_retries.value, 2U);
  EXPECT_EQ(s.overload_backoff_base.value, 50ms);
  EXPECT_EQ(s.overload_backoff_cap.value, 2s);
  EXPECT_FALSE(s.overload_retarget.value);
  EXPECT_TRUE(s.adaptive_retries.value);
  EXPECT_EQ(s.throttle_max_retries.value, 4U);
  EXPECT_EQ(s.throttle_max_wait.value, 700ms);
  EXPECT_EQ(s.unavailable_for.value, 60s);
  EXPECT_EQ(s.retry_budget_percent.value, 10U);
  EXPECT_EQ(s.retry_budget_min.value, 0U);
  EXPECT_EQ(s.hedge.value, "p95");
  EXPECT_EQ(text(s.hedge.at), "c:15:10");
  EXPECT_EQ(s.hedge_step.value().value, 20ms);
  EXPECT_EQ(s.hedge_max.value, 2U);
  EXPECT_TRUE(s.hedge_disabled.value);
  EXPECT_FALSE(s.interrupt_unreachable.value);
  EXPECT_EQ(s.hedge_max_load_percent.value, 0U);
  EXPECT_EQ(s.agent_first_byte_timeout.value().value, 80ms);
  EXPECT_EQ(s.search_timeouts.value().value, (std::vector<Micros>{300ms, 1s, 3s}));
  EXPECT_TRUE(s.breaker.value);
  EXPECT_EQ(s.breaker_reads.value, 7U);
  EXPECT_EQ(s.breaker_writes.value, 0U);
  EXPECT_EQ(s.breaker_window.value, 30s);
  EXPECT_EQ(s.access_log.value().value, "-");
}

TEST(Read, SetsWhatIsDoneAboutOverloadAndFaultsForOneTable) {
  const auto settings = settings_of(
      table(" agent = a:1\n max_attempts = 2\n retry_budget_percent = 0\n hedge = 50ms\n"
            " hedge_step = 30\n hedge_max = 0\n agent_first_byte_timeout = 1s\n"
            " search_timeouts = 2s\n breaker = 0"));
  const auto& t = settings.tables.at(0);
  EXPECT_EQ(t.max_attempts.value().value, 2U);
  EXPECT_EQ(t.retry_budget_percent.value().value, 0U);
  EXPECT_EQ(t.hedge.value().value, "50ms");
  EXPECT_EQ(t.hedge_step.value().value, 30ms);
  EXPECT_EQ(t.hedge_max.value().value, 0U);
  EXPECT_EQ(t.agent_first_byte_timeout.value().value, 1s);
  EXPECT_EQ(t.search_timeouts.value().value, std::vector<Micros>{2s});
  EXPECT_FALSE(t.breaker.value().value);
  EXPECT_EQ(problems_of(table(" agent = a:1\n hedge_disabled = 1\n retry_budget_min = 1")),
            (Lines{"c:4:2: 'hedge_disabled' stands in searchd, not here",
                   "c:5:2: 'retry_budget_min' stands in searchd, not here"}));
}

TEST(Read, KeepsTheWindowAndTheWaitingForTheWholeProcess) {  // SS-011, SS-014, SS-016
  EXPECT_EQ(problems_of(table(" agent = a:1\n local_threshold = 1\n selection_timeout = 1\n"
                              " max_waiting_selections = 1\n server_selection_try_once = 1")),
            (Lines{"c:4:2: 'local_threshold' stands in searchd, not here",
                   "c:5:2: 'selection_timeout' stands in searchd, not here",
                   "c:6:2: 'max_waiting_selections' stands in searchd, not here",
                   "c:7:2: unknown key 'server_selection_try_once'"}));
}

TEST(Read, SetsEveryKeyOfSearchdInItsUnit) {
  const auto s = settings_of(
                     "searchd {\n listen = 9308\n listen = /run/k.sock\n workers = 3\n"
                     " ha_strategy = nodeads\n ha_period_karma = 30\n ha_ping_interval = 200\n"
                     " ping_timeout = 100\n ping_path = /healthz?a=1\n karma_compound = 0\n"
                     " dead_after = 5\n agent_connect_timeout = 250\n agent_query_timeout = 2s\n"
                     " agent_retry_count = 2\n agent_retry_delay = 10\n request_timeout = 4000\n"
                     " persistent_connections_limit = 7\n hostname_lookup = request\n"
                     " partial_results = deny\n collation = libc_cs\n client_timeout = 20\n"
                     " network_timeout = 3\n max_packet_size = 8m\n max_header_size = 8k\n"
                     " max_header_count = 50\n max_connections = 1000\n max_json_depth = 64\n"
                     " memory_limit = 3g\n buffer_keep_up_to = 2m\n listen_backlog = 100\n "
                     "shutdown_timeout = 9\n"
                     " shutdown_linger = 2\n log_level = debug\n}")
                     .searchd;
  ASSERT_EQ(s.listen.size(), 2U);
  EXPECT_EQ(text(s.listen[0].address), "*:9308");
  EXPECT_EQ(text(s.listen[1].address), "/run/k.sock");
  EXPECT_EQ(s.workers.value, 3U);
  EXPECT_EQ(s.ha_strategy.value().value, "nodeads");
  EXPECT_EQ(s.ha_period_karma.value, 30s);
  EXPECT_EQ(s.ha_ping_interval.value, 200ms);
  EXPECT_EQ(s.ping_timeout.value().value, 100ms);
  EXPECT_EQ(s.ping_path.value().value, "/healthz?a=1");
  EXPECT_FALSE(s.karma_compound.value);
  EXPECT_EQ(s.dead_after.value, 5U);
  EXPECT_EQ(s.agent_connect_timeout.value, 250ms);
  EXPECT_EQ(s.agent_query_timeout.value, 2s);
  EXPECT_EQ(s.agent_retry_count.value().value, 2U);
  EXPECT_EQ(s.agent_retry_delay.value, 10ms);
  EXPECT_EQ(s.request_timeout.value, 4s);
  EXPECT_EQ(s.persistent_connections_limit.value().value, 7U);
  EXPECT_EQ(s.hostname_lookup.value, LookUp::on_request);
  EXPECT_EQ(s.partial_results.value, PartialResults::deny);
  EXPECT_EQ(s.collation.value, Collation::libc_cs);
  EXPECT_EQ(s.client_timeout.value, 20s);
  EXPECT_EQ(s.network_timeout.value, 3s);
  EXPECT_EQ(s.max_packet_size.value, 8U << 20);
  EXPECT_EQ(s.max_header_size.value, 8U << 10);
  EXPECT_EQ(s.max_header_count.value, 50U);
  EXPECT_EQ(s.max_connections.value, 1000U);
  EXPECT_EQ(s.max_json_depth.value, 64U);
  EXPECT_EQ(s.memory_limit.value, (MemorySize{false, std::uint64_t{3} << 30}));
  EXPECT_EQ(s.buffer_keep_up_to.value, 2U << 20);
  EXPECT_EQ(s.listen_backlog.value, 100U);
  EXPECT_EQ(s.shutdown_timeout.value, 9s);
  EXPECT_EQ(s.shutdown_linger.value, 2s);
  EXPECT_EQ(s.log_level.value, LogLevel::debug);
  EXPECT_EQ(text(s.ha_period_karma.at), "c:6:20") << "the place of the value";
}

TEST(Read, SetsEveryKeyOfATable) {
  const auto settings = settings_of(
      "table t {\n type = distributed\n agent_persistent = c:3:x\n agent = a:1|b:2\n"
      " agent = d:4[blackhole=1]\n agent_blackhole = e:5:y\n ha_strategy = roundrobin\n"
      " agent_connect_timeout = 20\n agent_query_timeout = 30\n agent_retry_count = 1\n"
      " partial_results = deny\n}\n"
      "table pass {\n type = distributed\n dialect = http\n route = /solr\n path = /x\n"
      " reads = /solr/select, /solr/query\n reads = /solr/get\n agent = s:8983\n}\n");
  ASSERT_EQ(settings.tables.size(), 2U);
  const auto& t = settings.tables[0];
  EXPECT_EQ(t.name, "t");
  EXPECT_EQ(t.dialect.value, "manticore");
  ASSERT_EQ(t.shards.size(), 2U);
  EXPECT_EQ(text(t.shards[0]), "a:1:t|b:2:t") << "agent lines come first";
  EXPECT_EQ(text(t.shards[1]), "c:3:x [conn=persistent]");
  ASSERT_EQ(t.blackholes.size(), 2U);
  EXPECT_EQ(text(t.blackholes[0]), "d:4:t");
  EXPECT_EQ(text(t.blackholes[1]), "e:5:y");
  EXPECT_EQ(t.ha_strategy.value().value, "roundrobin");
  EXPECT_EQ(t.agent_connect_timeout.value().value, 20ms);
  EXPECT_EQ(t.agent_query_timeout.value().value, 30ms);
  EXPECT_EQ(t.agent_retry_count.value().value, 1U);
  EXPECT_EQ(t.partial_results.value().value, PartialResults::deny);
  const auto& pass = settings.tables[1];
  EXPECT_EQ(pass.dialect.value, "http");
  EXPECT_EQ(pass.route.value, "/solr");
  EXPECT_EQ(pass.path.value().value, "/x");
  EXPECT_EQ(pass.reads, (std::vector<std::string>{"/solr/select", "/solr/query", "/solr/get"}));
  EXPECT_EQ(text(pass.reads_at), "c:18:10");
}

TEST(Read, LetsAChildTableHaveItsOwnNameInInheritedAgentLines) {
  const auto settings =
      settings_of("table a {\n type = distributed\n agent = h:1\n}\ntable b : a {\n}");
  EXPECT_EQ(text(settings.tables.at(1).shards.at(0)), "h:1:b");
  EXPECT_EQ(text(settings.tables[1].shards[0].at), "c:3:10");
}

TEST(Read, LetsTheNewNameOfAKeyWinOverItsOtherName) {
  const auto settings = settings_of(
      "searchd {\n network_timeout = 7\n read_timeout = 2\n mirror_retry_count = 3\n"
      " agent_retry_count = 2\n collation_server = libc_cs\n}\n" +
      table(" mirror_retry_count = 5\n agent_retry_count = 4\n agent = a:1"));
  EXPECT_EQ(settings.searchd.network_timeout.value, 7s);
  EXPECT_EQ(settings.searchd.agent_retry_count.value().value, 3U);
  EXPECT_EQ(settings.searchd.collation.value, Collation::libc_cs);
  EXPECT_EQ(settings.tables.at(0).agent_retry_count.value().value, 5U);
  EXPECT_EQ(lines(settings.notices),
            (Lines{"c:2:2: network_timeout wins over its other name, set in c:3:17",
                   "c:4:2: mirror_retry_count wins over its other name, set in c:5:22",
                   "c:10:2: mirror_retry_count wins over its other name, set in c:11:22"}));
}

TEST(Read, ReportsUnknownKeysWithTheClosestOne) {
  EXPECT_EQ(problems_of("searchd {\n ha_stratgy = random\n foobarbaz = 1\n}\n" +
                        table(" agnet = a:1\n agent = a:1")),
            (Lines{"c:2:2: unknown key 'ha_stratgy'; did you mean 'ha_strategy'?",
                   "c:3:2: unknown key 'foobarbaz'",
                   "c:7:2: unknown key 'agnet'; did you mean 'agent'?"}));
}

TEST(Read, SaysWhereAKnownKeyBelongs) {
  EXPECT_EQ(problems_of("searchd {\n agent = a:1\n}\n" + table(" listen = 1\n agent = a:1")),
            (Lines{"c:2:2: 'agent' stands in a distributed table, not here",
                   "c:6:2: 'listen' stands in searchd, not here"}));
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
      {"karma_compound = yes", "c:2:18: karma_compound: 'yes' is neither 0 nor 1"},
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
  EXPECT_EQ(
      problems_of(table(" local = x\n agent = a:1")),
      Lines{"c:3:2: local tables cannot be part of a distributed table here: ignoring this one "
            "would silently lose its data; serve it from an agent"});
}

TEST(Read, WantsToBeToldThatATableIsDistributed) {
  EXPECT_EQ(problems_of("table t {\n agent = a:1\n}"),
            Lines{"c:1:1: table 't' has agents, but no 'type = distributed'"});
  EXPECT_EQ(problems_of("table t {\n type = distribtued\n agent = a:1\n}"),
            Lines{"c:2:9: unknown type 'distribtued'; did you mean 'distributed'?"});
}

TEST(Read, WarnsOfIgnoredKeysThatTheOperatorWillMiss) {
  EXPECT_EQ(
      notices_of("searchd {\n ssl_cert = a.pem\n max_children = 30\n log = x\n}\n"
                 "table t {\n type = distributed\n agent = a:1\n}\n"),
      (Lines{"c:2:2: warning: ssl_cert is ignored: karmad does not speak TLS, clients connect "
             "unencrypted",
             "c:3:2: warning: max_children is ignored: search_tickets and update_tickets "
             "bound how many requests are worked on",
             "c:4:2: keys of searchd that mean nothing here are ignored: log"}));
}

TEST(Read, ListsWhatItIgnoresOncePerKindOfSection) {
  EXPECT_EQ(
      notices_of(
          "source s1 {\n sql_host = x\n}\nsource s2 : s1 {\n}\nindexer {\n mem_limit = 1G\n}\n"
          "common {\n}\nindex p {\n source = s1\n path = /p\n}\nindex r {\n type = rt\n}\n"
          "searchd {\n log = /l\n pid_file = /p\n binlog_path =\n}\n" +
          table(" morphology = none\n agent = a:1")),
      (Lines{
          "c:1:1: sections that mean nothing here are ignored: source s1, source s2",
          "c:6:1: sections that mean nothing here are ignored: indexer",
          "c:9:1: sections that mean nothing here are ignored: common",
          "c:11:1: tables that are not distributed are ignored: p, r",
          "c:19:2: keys of searchd that mean nothing here are ignored: log, pid_file, binlog_path",
          "c:25:2: keys of distributed tables that mean nothing here are ignored: morphology"}));
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
  ASSERT_EQ(settings.searchd.listen.size(), 2U);
  EXPECT_EQ(settings.searchd.ha_period_karma.value, 120s);
  EXPECT_EQ(settings.searchd.network_timeout.value, 5s);
  ASSERT_EQ(settings.tables.size(), 1U);
  const auto& docs = settings.tables[0];
  ASSERT_EQ(docs.shards.size(), 3U);
  EXPECT_EQ(text(docs.shards[0]),
            "search1.example:9312:docs_0,docs_0_delta|search2.example:9312:docs_0,docs_0_delta");
  EXPECT_EQ(text(docs.shards[1]),
            "search3.example:9312:docs_1|search4.example:9312:docs_1 [ha_strategy=nodeads, "
            "retry_count=3]");
  EXPECT_EQ(docs.blackholes.size(), 1U);
  EXPECT_EQ(docs.agent_retry_count.value().value, 2U);
  const auto notices = lines(settings.notices);
  EXPECT_EQ(notices.size(), 8U);
  for (const char* part :
       {"source main_base, source main_delta", "ignored: docs_0, docs_0_delta", "ignored: indexer",
        "workers = threads is ignored", "9306:mysql41", "/var/run/searchd.sock:mysql41",
        "keys of searchd that mean nothing here are ignored: log, query_log",
        "warning: max_children is ignored"})
    EXPECT_TRUE(mentions(notices, part)) << part;
}

}  // namespace
}  // namespace karmad
