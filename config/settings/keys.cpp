#include "config/settings/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "config/settings/attempts.hpp"
#include "config/text/paragraphs.hpp"

// The bytes of keys.txt.
extern "C" const char karmad_key_docs[];      // NOLINT(readability-identifier-naming): a symbol
extern "C" const char karmad_key_docs_end[];  // NOLINT(readability-identifier-naming)

namespace karmad {

namespace {

constexpr Bounds times(Micros bare, Micros lowest, Micros highest) {
  return {.lowest = lowest.count(), .highest = highest.count(), .bare = bare};
}
constexpr Bounds times_or_zero(Micros bare, Micros lowest, Micros highest) {
  auto bounds = times(bare, lowest, highest);
  bounds.zero = true;
  return bounds;
}
constexpr Bounds counts(std::int64_t lowest, std::int64_t highest,
                        std::string_view zero_word = {}) {
  return {.lowest = lowest, .highest = highest, .zero_word = zero_word};
}

constexpr Bounds memory_sizes() {
  auto bounds = counts(std::int64_t{16} << 20, std::int64_t{64} << 40);
  bounds.zero = true;
  return bounds;
}

/// A limit; -1 means none. Seconds without a suffix.
constexpr Bounds limits_or_none(Micros lowest, Micros highest) {
  auto bounds = times_or_zero(1s, lowest, highest);
  bounds.zero_word = "-1";
  bounds.zero_means = "no limit";
  return bounds;
}

constexpr auto kPercent = counts(0, 100);
constexpr auto kAttempts = counts(1, 100);
constexpr auto kHedges = counts(0, 8);
constexpr std::int64_t kMostTickets = 1'000'000'000;

constexpr auto kBurst = times(1s, 1ms, Micros{24h});

constexpr std::int64_t kKilo = 1 << 10;
constexpr std::int64_t kMega = 1 << 20;
constexpr std::int64_t kGiga = 1 << 30;
constexpr auto kDay = Micros{24h};
constexpr auto kYear = 365 * kDay;

// Values of `workers` in files for Sphinx 2.
constexpr std::array<std::string_view, 5> kSphinxWorkers{"threads", "thread_pool", "prefork",
                                                         "fork", "none"};

using I = InstanceSettings;
using T = TableSettings;
// Where else a setting may be given than in `searchd`: in a table, on an agent line, behind a
// mirror.
using ByTables = InheritedByTables;
using ByLines = InheritedByLines;
using ByMirrors = InheritedByMirrors;

/// A key of `searchd`; the struct of its field decides at which other levels it may be given.
template <class Value, class Scope>
consteval Key<I> key(std::string_view name, Value Scope::*field, Bounds bounds = {},
                     std::string_view alias_of = {},
                     std::span<const std::string_view> foreign = {}) {
  return {.name = name,
          .field = static_cast<Value I::*>(field),
          .bounds = bounds,
          .alias_of = alias_of,
          .foreign = foreign,
          .level = kLevelOf<Scope>};
}

consteval Key<I> beside(std::string_view other, Key<I> key) {
  key.beside = other;
  return key;
}

constexpr std::array kSearchdKeys{
    key("listen", &I::listen),
    key("tls_certificate", &I::tls_certificate),
    key("tls_key", &I::tls_key),
    key("tls_client_ca", &I::tls_client_ca),
    key("tls_client_names", &I::tls_client_names),
    key("trusted_proxies", &I::trusted_proxies),
    key("allow_origin", &I::allow_origin),
    key("compress", &I::compress),
    key("compress_min_size", &I::compress_min_size, counts(1, kGiga)),
    key("compress_level", &I::compress_level, counts(1, 9)),
    key("compress_share", &I::compress_share),
    key("forwarded_headers", &ByTables::forwarded_headers),
    key("keep_host", &ByTables::keep_host),
    key("admin_token_file", &I::admin_token_file),
    key("auth", &I::auth),
    key("auth_remembered", &I::auth_remembered, counts(1, 1'000'000)),
    key("auth_failure_rate", &I::auth_failure_rate),
    key("auth_failure_burst", &I::auth_failure_burst, kBurst),
    key("scroll_key_file", &I::scroll_key_file),
    key("admin_on_query_port", &I::admin_on_query_port),
    key("status_on_query_port", &I::status_on_query_port),
    key("max_admin_connections", &I::max_admin_connections, counts(1, 10'000)),
    key("state_file", &I::state_file),
    key("listen_socket_mode", &I::listen_socket_mode),
    key("listen_socket_owner", &I::listen_socket_owner),
    key("workers", &I::workers, counts(0, 1024, "auto"), {}, kSphinxWorkers),
    key("ha_strategy", &ByLines::ha_strategy),
    key("ha_period_karma", &I::ha_period_karma, times(1s, 1s, kDay)),
    key("ha_ping_interval", &I::ha_ping_interval, times_or_zero(1ms, 10ms, 1h)),
    key("ping_timeout", &I::ping_timeout, times(1ms, 1ms, 1h)),
    key("interrupt_unreachable", &I::interrupt_unreachable),
    key("ping_type", &ByLines::ping_type),
    key("ping_path", &ByLines::ping_path),
    key("read_preference", &ByTables::read_preference),
    beside("read_preference", key("tag_sets", &ByTables::tag_sets)),
    beside("read_preference",
           key("max_staleness", &ByTables::max_staleness, limits_or_none(1s, kYear))),
    key("local_threshold", &I::local_threshold, times(1ms, 0s, 1h)),
    key("selection_timeout", &I::selection_timeout, times(1ms, 0s, kDay)),
    key("max_waiting_selections", &I::max_waiting_selections, counts(0, 1'000'000)),
    key("max_event_streams", &I::max_event_streams, counts(0, 10'000)),
    key("explain_requests", &I::explain_requests, counts(0, 10'000)),
    key("selection_log_level", &I::selection_log_level),
    key("tags_in_flat", &I::tags_in_flat),
    key("karma_compound", &I::karma_compound),
    key("dead_after", &I::dead_after, counts(0, 1000)),
    key("agent_connect_timeout", &ByTables::agent_connect_timeout, times(1ms, 1ms, 1h)),
    key("agent_tls", &ByMirrors::agent_tls),
    key("agent_tls_name", &ByMirrors::agent_tls_name),
    key("agent_tls_ca", &ByTables::agent_tls_ca),
    key("agent_tls_certificate", &ByTables::agent_tls_certificate),
    key("agent_query_timeout", &ByTables::agent_query_timeout, times(1ms, 1ms, 1h)),
    key("agent_retry_count", &ByTables::agent_retry_count, counts(0, kMostRetries)),
    key("mirror_retry_count", &ByTables::agent_retry_count, counts(0, kMostRetries),
        "agent_retry_count"),
    key("agent_retry_delay", &I::agent_retry_delay, times(1ms, 0s, 1h)),
    key("request_timeout", &I::request_timeout, times(1ms, 1ms, kDay)),
    key("max_hops", &I::max_hops, counts(0, 100)),
    key("agent_first_byte_timeout", &ByTables::agent_first_byte_timeout, times(1ms, 1ms, 1h)),
    key("search_timeouts", &ByTables::search_timeouts, times(1ms, 1ms, 1h)),
    key("retry_reads", &I::retry_reads),
    key("retry_writes", &I::retry_writes),
    key("max_attempts", &ByTables::max_attempts, kAttempts),
    key("overload_max_retries", &I::overload_max_retries, counts(0, 10)),
    key("overload_backoff_base", &I::overload_backoff_base, times(1ms, 1ms, 1h)),
    key("overload_backoff_cap", &I::overload_backoff_cap, times(1ms, 1ms, 1h)),
    key("overload_retarget", &I::overload_retarget),
    key("adaptive_retries", &I::adaptive_retries),
    key("throttle_max_retries", &I::throttle_max_retries, counts(0, 100)),
    key("throttle_max_wait", &I::throttle_max_wait, times(1ms, 0s, 1h)),
    key("unavailable_for", &I::unavailable_for, times(1s, 0s, kDay)),
    key("zone_max_retries", &I::zone_max_retries, counts(0, 100)),
    key("retry_budget_percent", &ByTables::retry_budget_percent, kPercent),
    key("retry_budget_min", &I::retry_budget_min, counts(0, 1'000'000)),
    key("hedge", &ByTables::hedge),
    key("hedge_step", &ByTables::hedge_step, times(1ms, 1ms, 1h)),
    key("hedge_max", &ByTables::hedge_max, kHedges),
    key("hedge_disabled", &I::hedge_disabled),
    key("hedge_max_load_percent", &I::hedge_max_load_percent, counts(0, 10'000)),
    key("breaker", &ByTables::breaker),
    key("breaker_reads", &I::breaker_reads, counts(0, 1'000'000)),
    key("breaker_writes", &I::breaker_writes, counts(0, 1'000'000)),
    key("breaker_window", &I::breaker_window, times(1s, 1s, kDay)),
    key("choices", &ByTables::choices, counts(1, 64)),
    key("slow_start", &ByTables::slow_start, times_or_zero(1s, 1ms, 1h)),
    key("outlier", &ByTables::outlier),
    key("outlier_failures", &I::outlier_failures, counts(1, 1'000'000)),
    key("outlier_failure_percent", &I::outlier_failure_percent, counts(1, 100)),
    key("outlier_latency_factor", &I::outlier_latency_factor),
    key("outlier_time", &I::outlier_time, times(1s, 100ms, kDay)),
    key("outlier_longest_time", &I::outlier_longest_time, times(1s, 100ms, kDay)),
    key("outlier_most_percent", &I::outlier_most_percent, kPercent),
    key("outlier_panic_percent", &I::outlier_panic_percent, kPercent),
    key("persistent_connections_limit", &I::persistent_connections_limit, counts(0, 100'000)),
    key("agent_max_connections", &I::agent_max_connections, counts(0, 1'000'000)),
    key("agent_max_connecting", &I::agent_max_connecting, counts(0, 1'000'000)),
    key("max_in_flight", &ByMirrors::max_in_flight),
    key("max_in_flight_min", &I::max_in_flight_min, counts(1, 1'000'000)),
    key("max_in_flight_max", &I::max_in_flight_max, counts(1, 1'000'000)),
    key("max_in_flight_initial", &I::max_in_flight_initial, counts(1, 1'000'000)),
    key("max_in_flight_slack", &I::max_in_flight_slack, counts(1, 1'000'000)),
    key("max_in_flight_smoothing", &I::max_in_flight_smoothing, counts(1, 100)),
    key("max_in_flight_queue", &I::max_in_flight_queue, counts(0, 10'000)),
    key("hostname_lookup", &I::hostname_lookup),
    key("dns_refresh", &I::dns_refresh, times_or_zero(1s, 100ms, kDay)),
    key("dns_servers", &I::dns_servers),
    key("dns_timeout", &I::dns_timeout, times(1ms, 10ms, 1min)),
    key("dns_tries", &I::dns_tries, counts(1, 10)),
    key("resolve", &ByMirrors::resolve),
    key("partial_results", &ByTables::partial_results),
    key("collation_server", &I::collation, {}, "collation"),
    key("collation", &I::collation),
    key("admission", &I::admission),
    key("ingress_tickets", &I::ingress_tickets, counts(0, kMostTickets)),
    key("search_tickets", &I::search_tickets, counts(0, kMostTickets)),
    key("update_tickets", &I::update_tickets, counts(0, kMostTickets)),
    key("ticket_queue_depth", &I::ticket_queue_depth, counts(0, kMostTickets)),
    key("ticket_queue_timeout", &I::ticket_queue_timeout, times(1ms, 1ms, 1h)),
    key("ticket_queue_discipline", &I::ticket_queue_discipline),
    key("ticket_queue_target", &I::ticket_queue_target, times(1ms, 1ms, 1h)),
    key("ticket_queue_interval", &I::ticket_queue_interval, times(1ms, 1ms, 1h)),
    key("low_priority", &I::low_priority),
    key("low_priority_tickets", &I::low_priority_tickets, counts(0, kMostTickets)),
    key("ticket_resize", &I::ticket_resize),
    key("ticket_delinquent_after", &I::ticket_delinquent_after, times(1ms, 1ms, kDay)),
    key("throughput_probing_initial_concurrency", &I::throughput_probing_initial_concurrency,
        counts(0, kMostTickets)),
    key("throughput_probing_min_concurrency", &I::throughput_probing_min_concurrency,
        counts(1, kMostTickets)),
    key("throughput_probing_max_concurrency", &I::throughput_probing_max_concurrency,
        counts(1, kMostTickets)),
    key("throughput_probing_read_write_ratio", &I::throughput_probing_read_write_ratio),
    key("throughput_probing_concurrency_moving_average_weight",
        &I::throughput_probing_concurrency_moving_average_weight),
    key("throughput_probing_step_multiple", &I::throughput_probing_step_multiple),
    key("throughput_probing_evidence", &I::throughput_probing_evidence, counts(0, 1'000'000)),
    key("throughput_probing_evidence_step", &I::throughput_probing_evidence_step),
    key("throughput_probing_evidence_gain", &I::throughput_probing_evidence_gain),
    key("throughput_probing_stall_detection_timeout",
        &I::throughput_probing_stall_detection_timeout, times(1ms, 1ms, 1h)),
    key("throughput_probing_concurrency_adjustment_interval",
        &I::throughput_probing_concurrency_adjustment_interval, times(1ms, 10ms, 1h)),
    key("client_timeout", &I::client_timeout, times(1s, 1ms, 7 * kDay)),
    key("half_close_wait", &I::half_close_wait, times(1s, 0s, kDay)),
    key("read_timeout", &I::network_timeout, times(1s, 1ms, kDay), "network_timeout"),
    key("max_tunnels", &I::max_tunnels, counts(0, 1'000'000)),
    key("stream_timeout", &I::stream_timeout, times(1s, 1ms, kDay)),
    key("network_timeout", &I::network_timeout, times(1s, 1ms, kDay)),
    key("max_packet_size", &I::max_packet_size, counts(kKilo, 4 * kGiga)),
    key("reply_buffer_size", &I::reply_buffer_size, counts(64 * kKilo, 4 * kGiga)),
    key("request_buffer_size", &I::request_buffer_size, counts(kKilo, 4 * kGiga)),
    key("max_header_size", &I::max_header_size, counts(kKilo, kMega)),
    key("max_header_count", &I::max_header_count, counts(1, 128)),
    key("max_connections", &I::max_connections, counts(0, 10'000'000)),
    key("ingress_connection_rate", &I::ingress_connection_rate),
    key("ingress_connection_burst", &I::ingress_connection_burst, kBurst),
    key("ingress_connection_queue", &I::ingress_connection_queue, counts(0, 1'000'000)),
    key("ingress_connection_bypass", &I::ingress_connection_bypass),
    key("ingress_request_rate", &I::ingress_request_rate),
    key("ingress_request_burst", &I::ingress_request_burst, kBurst),
    key("ingress_request_exempt", &I::ingress_request_exempt),
    key("ingress_request_exempt_apps", &I::ingress_request_exempt_apps),
    key("client_request_rate", &I::client_request_rate),
    key("client_request_burst", &I::client_request_burst, kBurst),
    key("client_request_remembered", &I::client_request_remembered, counts(1, 1'000'000)),
    key("client_request_header", &I::client_request_header),
    key("long_work_threads", &I::long_work_threads, counts(0, 1024, "auto")),
    key("long_work_queue", &I::long_work_queue, counts(1, 1'000'000)),
    key("long_work_size", &I::long_work_size, counts(1, 4 * kGiga)),
    key("max_json_depth", &I::max_json_depth, counts(8, 1000)),
    key("memory_limit", &I::memory_limit, memory_sizes()),
    key("buffer_keep_up_to", &I::buffer_keep_up_to, counts(4 * kKilo, kGiga)),
    key("listen_backlog", &I::listen_backlog, counts(1, 65535)),
    key("drain_delay", &I::drain_delay, times(1s, 0s, kDay)),
    key("shutdown_timeout", &I::shutdown_timeout, times(1s, 0s, kDay)),
    key("shutdown_linger", &I::shutdown_linger, times(1s, 0s, kDay)),
    key("takeover_socket", &I::takeover_socket),
    key("log_level", &I::log_level),
    key("log_format", &I::log_format),
    key("request_id", &I::request_id),
    key("access_log", &I::access_log),
    key("access_log_format", &I::access_log_format),
    key("access_log_sample", &I::access_log_sample),
    key("access_log_slow", &I::access_log_slow, times(1s, 0s, kDay)),
};

/// A field that a table has from a part of its settings.
template <class Value, class Part>
consteval Value T::*of_table(Value Part::*field) {
  return field;
}

constexpr std::array kTableKeys{
    Key<T>{"type", std::monostate{}},
    Key<T>{"agent", &T::shards},
    Key<T>{"discovery", of_table(&DiscoverySettings::discovery)},
    Key<T>{"discovery_ca", of_table(&DiscoverySettings::discovery_ca)},
    Key<T>{"discovery_certificate", of_table(&DiscoverySettings::discovery_certificate)},
    Key<T>{"discovery_token", of_table(&DiscoverySettings::discovery_token)},
    Key<T>{"agent_persistent", &T::shards},
    Key<T>{"agent_blackhole", &T::blackholes},
    Key<T>{"dialect", &T::dialect},
    Key<T>{"route", &T::route},
    Key<T>{"path", &T::path},
    Key<T>{"reads", &T::reads},
    Key<T>{"methods", &T::methods},
    Key<T>{"upgrades", &T::upgrades},
    Key<T>{"updates", &T::updates},
    Key<T>{"shard_by", &T::shard_by},
    Key<T>{"pass_authorization", of_table(&CredentialSettings::pass_authorization)},
    Key<T>{"credentials", of_table(&CredentialSettings::credentials)},
    Key<T>{"consistency", &T::consistency},
    Key<T>{"required", &T::required},
    Key<T>{"request_rate", &T::request_rate},
    Key<T>{"request_burst", &T::request_burst, kBurst},
};

/// The field as a member of `Owner`, which inherits `Scope`. Both variants have the same
/// alternatives.
template <class Owner, class Scope, std::size_t kAt = 1>
consteval KeyField<Owner> field_in(const KeyField<I>& field) {
  if constexpr (kAt == std::variant_size_v<KeyField<I>>) {
    return {};
  } else {
    const auto* member = std::get_if<kAt>(&field);
    if (member == nullptr) return field_in<Owner, Scope, kAt + 1>(field);
    return static_cast<std::variant_alternative_t<kAt, KeyField<Owner>>>(
        static_cast<std::variant_alternative_t<kAt, KeyField<Scope>>>(*member));
  }
}

constexpr bool is_inherited(const Key<I>& key, Level by) {
  return by == Level::table ? key.level != Level::instance : key.level == by;
}

/// The settings of `searchd` that may be given at this level, as keys of `Owner`.
template <class Owner, class Scope>
consteval auto inherited_keys() {
  constexpr auto level = kLevelOf<Scope>;
  constexpr auto is_one = [](const Key<I>& key) { return is_inherited(key, level); };
  std::array<Key<Owner>, std::ranges::count_if(kSearchdKeys, is_one)> keys{};
  auto* next = keys.begin();
  for (const auto& key : kSearchdKeys)
    if (is_one(key))
      *next++ = {.name = key.name,
                 .field = field_in<Owner, Scope>(key.field),
                 .bounds = key.bounds,
                 .alias_of = key.alias_of,
                 .foreign = key.foreign,
                 .level = key.level,
                 .beside = key.beside,
                 .inherited = true};
  return keys;
}

/// All keys of a table: its own, then those it inherits.
consteval auto all_table_keys() {
  constexpr auto inherited = inherited_keys<TableSettings, InheritedByTables>();
  std::array<Key<T>, kTableKeys.size() + inherited.size()> keys{};
  std::ranges::copy(inherited, std::ranges::copy(kTableKeys, keys.begin()).out);
  return keys;
}

constexpr auto kAllTableKeys = all_table_keys();
constexpr auto kLineKeys = inherited_keys<ShardSettings, InheritedByLines>();
constexpr auto kMirrorKeys = inherited_keys<MirrorSettings, InheritedByMirrors>();

/// By the name of the section in brackets and the key.
using KeyDocs = std::map<std::string, KeyDoc>;

KeyDocs read_docs() {
  KeyDocs docs;
  std::string section;
  for (auto& [head, text] : read_paragraphs(karmad_key_docs, karmad_key_docs_end)) {
    if (head.starts_with('[')) {
      section = head;
      continue;
    }
    const auto colon = head.find(':');
    const auto unset = std::min(colon + 2, head.size());
    docs[section + head.substr(0, colon)] = {std::move(text), head.substr(unset)};
  }
  return docs;
}

const KeyDoc* find_doc(std::string_view section, std::string_view key) {
  static const auto docs = read_docs();
  const auto found = docs.find(fmt::format("{}{}", section, key));
  return found == docs.end() ? nullptr : &found->second;
}

}  // namespace

KeyDoc doc_of(const Key<InstanceSettings>& key) {
  const auto* const doc = find_doc("[searchd]", key.name);
  return doc == nullptr ? KeyDoc() : *doc;
}

KeyDoc doc_of(const Key<TableSettings>& key) {
  if (const auto* const own = find_doc("[table]", key.name)) return *own;
  const auto* const above = find_doc("[searchd]", key.name);
  if (above == nullptr) return {};
  return {key.alias_of.empty() ? "As in `searchd`, for this table." : above->meaning,
          "that of `searchd`"};
}

std::span<const Key<InstanceSettings>> searchd_keys() {
  return kSearchdKeys;
}
std::span<const Key<TableSettings>> table_keys() {
  return kAllTableKeys;
}
std::span<const Key<ShardSettings>> line_keys() {
  return kLineKeys;
}
std::span<const Key<MirrorSettings>> mirror_keys() {
  return kMirrorKeys;
}

}  // namespace karmad
