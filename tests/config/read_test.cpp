#include "config/load.hpp"

#include <gtest/gtest.h>

#include "config/agent_line.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

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
  EXPECT_EQ(lines(settings.notices), Lines{});
}

TEST(Read, HasNoRequirementsOfAMirrorByDefault) {  // SS-010, SS-013, SS-030
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
  EXPECT_EQ(t.ping_type.value, "solr");
  EXPECT_EQ(t.ping_path.value().value, "/p");
  EXPECT_EQ(t.read_preference.value().value, "nearest");
  EXPECT_EQ(t.tag_sets.value().value, "dc:ny");
  EXPECT_EQ(t.max_staleness.value().value, 0s) << "SS-040: written -1, no limit";
  EXPECT_EQ(t.updates.value, Updates::any);
  const auto plain = settings_of(table(" agent = a:1"));
  EXPECT_EQ(plain.tables.at(0).updates.value, Updates::primary);
}

TEST(Read, HasNoRateLimitsByDefault) {  // AC-004, AC-011, AC-015, AC-020, AC-060
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
  EXPECT_EQ(s.access_log_format.value, LogFormat::json);
  EXPECT_EQ(s.access_log_sample.value, 1);
  EXPECT_EQ(s.access_log_slow.value, 1s);
  EXPECT_EQ(s.request_id.value, RequestIds::make);
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
          " breaker_writes = 0\n breaker_window = 30\n access_log = -\n"
          " access_log_format = text\n access_log_sample = 0.25\n access_log_slow = 300ms\n"
          " request_id = accept\n}")
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
  EXPECT_EQ(s.access_log_format.value, LogFormat::text);
  EXPECT_EQ(s.access_log_sample.value, 0.25);
  EXPECT_EQ(s.access_log_slow.value, 300ms);
  EXPECT_EQ(s.request_id.value, RequestIds::accept);
}

TEST(Read, SetsWhatIsDoneAboutOverloadAndFaultsForOneTable) {
  const auto settings = settings_of(
      table(" agent = a:1\n max_attempts = 2\n retry_budget_percent = 0\n hedge = 50ms\n"
            " hedge_step = 30\n hedge_max = 0\n agent_first_byte_timeout = 1s\n"
            " search_timeouts = 2s\n breaker = 0"));
  const auto& t = settings.tables.at(0);
  EXPECT_EQ(t.max_attempts.value().value, 2U);
  EXPECT_EQ(t.retry_budget_percent.value, 0U);
  EXPECT_EQ(t.hedge.value, "50ms");
  EXPECT_EQ(t.hedge_step.value().value, 30ms);
  EXPECT_EQ(t.hedge_max.value, 0U);
  EXPECT_EQ(t.agent_first_byte_timeout.value().value, 1s);
  EXPECT_EQ(t.search_timeouts.value().value, std::vector<Micros>{2s});
  EXPECT_FALSE(t.breaker.value);
  EXPECT_EQ(problems_of(table(" agent = a:1\n hedge_disabled = 1\n retry_budget_min = 1")),
            (Lines{"c:4:2: 'hedge_disabled' belongs in searchd, not here",
                   "c:5:2: 'retry_budget_min' belongs in searchd, not here"}));
}

TEST(Read, KeepsTheWindowAndTheWaitingForTheWholeProcess) {  // SS-011, SS-014, SS-016
  EXPECT_EQ(problems_of(table(" agent = a:1\n local_threshold = 1\n selection_timeout = 1\n"
                              " max_waiting_selections = 1\n server_selection_try_once = 1")),
            (Lines{"c:4:2: 'local_threshold' belongs in searchd, not here",
                   "c:5:2: 'selection_timeout' belongs in searchd, not here",
                   "c:6:2: 'max_waiting_selections' belongs in searchd, not here",
                   "c:7:2: unknown key 'server_selection_try_once'"}));
}

TEST(Read, SetsEveryKeyOfSearchdInItsUnit) {
  const auto s = settings_of(
                     "searchd {\n listen = 9308\n listen = /run/k.sock\n workers = 3\n"
                     " ha_strategy = nodeads\n ha_period_karma = 30\n ha_ping_interval = 200\n"
                     " ping_timeout = 100\n ping_path = /healthz?a=1\n karma_compound = 1\n"
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
  EXPECT_TRUE(s.karma_compound.value);
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
  EXPECT_EQ(text(t.shards[0], t), "a:1:t|b:2:t") << "agent lines come first";
  EXPECT_EQ(text(t.shards[1], t), "c:3:x [conn=persistent]");
  ASSERT_EQ(t.blackholes.size(), 2U);
  EXPECT_EQ(text(t.blackholes[0], t), "d:4:t");
  EXPECT_EQ(text(t.blackholes[1], t), "e:5:y");
  EXPECT_EQ(t.ha_strategy.value().value, "roundrobin");
  EXPECT_EQ(t.agent_connect_timeout.value, 20ms);
  EXPECT_EQ(t.agent_query_timeout.value, 30ms);
  EXPECT_EQ(t.agent_retry_count.value().value, 1U);
  EXPECT_EQ(t.partial_results.value, PartialResults::deny);
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
            (Lines{"c:2:2: network_timeout overrides its other name, set in c:3:17",
                   "c:4:2: mirror_retry_count overrides its other name, set in c:5:22",
                   "c:10:2: mirror_retry_count overrides its other name, set in c:11:22"}));
}

TEST(Read, AKeyOfAChildReplacesItsOtherNameAndWhatGoesWithIt) {
  const std::string parent =
      "table a {\n type = distributed\n agent = h:1:t|i:1\n mirror_retry_count = 5\n"
      " read_preference = nearest\n tag_sets = dc:ny|\n max_staleness = 120\n}\n";
  const auto settings = settings_of(
      parent +
      "table b : a {\n agent_retry_count = 0\n read_preference = primary\n}\n"
      "table c : b {\n mirror_retry_count = 1\n}\ntable d : a {\n}\ntable e : b {\n}\n");
  const auto retries = [&](std::size_t table) {
    return settings.tables[table].agent_retry_count->value;
  };
  EXPECT_EQ(retries(1), 0U);
  EXPECT_EQ(retries(2), 1U);
  EXPECT_EQ(retries(3), 5U);
  EXPECT_EQ(retries(4), 0U);
  EXPECT_FALSE(settings.tables[1].tag_sets);
  EXPECT_FALSE(settings.tables[1].max_staleness);
  EXPECT_TRUE(settings.tables[3].tag_sets);
}

}  // namespace
}  // namespace karmad
