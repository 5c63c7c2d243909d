#include "config/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "config/own_address.hpp"
#include "config/settings/address.hpp"
#include "config/settings/attempts.hpp"
#include "config/settings/inherit.hpp"
#include "config/settings/socket_access.hpp"
#include "config/settings/values.hpp"

namespace karmad {
namespace {

// The highest values that the search server recommends.
constexpr unsigned kSensibleRetries = 8;
constexpr Micros kSensibleRetryDelay = 1s;

/// Whether it is valid in a request line: a slash, then visible ASCII without a fragment.
bool is_target(std::string_view text) {
  return text.starts_with('/') &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

bool is_probed(const Located<TicketCount>& tickets) {
  return tickets.value.kind == TicketCount::Kind::automatic;
}

/// Reports what is wrong with each setting alone and beside others.
class Checker {
 public:
  Checker(const InstanceSettings& searchd, const ThisHost& host, Problems& problems,
          Problems& notices)
      : searchd_(searchd), host_(host), problems_(problems), notices_(notices) {}

  void check_instance() {
    check_bounds(searchd_keys(), searchd_);
    check_listen();
    check_admin();
    check_auth();
    check_client_header();
    check_rest();
  }

  void check_table(const TableSettings& table) {
    check_bounds(table_keys(), table);
    const auto above = empty_table(searchd_);
    check_inherited(table, above, fmt::format("table {}", in_quotes(table.name)));
    if (table.shards.empty() && !table.discovery)
      problem(table.at, fmt::format("table {} needs a line of agent or agent_persistent, or "
                                    "discovery",
                                    in_quotes(table.name)));
    for (const auto* lines : {&table.shards, &table.blackholes})
      for (const auto& shard : *lines) check_shard(table, shard);
    for (const auto& shard : table.shards)
      for (auto& cut : cut_off(searchd_, table, shard)) notice_once(std::move(cut));
    check_discovery(table);
    const auto has_mirrors = [](const ShardSettings& shard) { return shard.mirrors.size() > 1; };
    if (table.ha_strategy && is_own(table.ha_strategy, above.ha_strategy) &&
        !table.shards.empty() && std::ranges::none_of(table.shards, has_mirrors))
      notice(table.ha_strategy->at,
             "ha_strategy has no effect: each shard of the table has one agent");
    check_burst("request", table.request_rate, table.request_burst);
  }

 private:
  void problem(const Place& at, std::string message) {
    problems_.push_back({at, std::move(message)});
  }
  void notice(const Place& at, std::string message) {
    notices_.push_back({at, std::move(message)});
  }
  /// Adds to `found` that one setting exceeds another, if it does.
  template <class T>
  void check_order(Problems& found, std::string_view key, const Located<T>& setting,
                   std::string_view other, const Located<T>& most) {
    if (setting.value > most.value)
      found.push_back({first_set(setting, most),
                       fmt::format("{} ({}) is {} than {} ({})", key, value_text(setting.value),
                                   std::is_same_v<T, Micros> ? "longer" : "larger", other,
                                   value_text(most.value))});
  }
  std::string never_reached(std::string_view key, Micros time) const {
    return fmt::format(
        "{} ({}) can never be reached: request_timeout ends the whole request "
        "after {}",
        key, time_text(time), time_text(searchd_.request_timeout.value));
  }
  /// For a setting that several tables and shards inherit.
  void notice_once(Problem problem) {
    if (std::ranges::find(notices_, problem) == notices_.end())
      notices_.push_back(std::move(problem));
  }

  /// Where one of two settings that do not go together is set.
  static Place first_set(const auto& one, const auto& other) {
    return one.at.line != 0 ? one.at : other.at;
  }

  template <class Owner>
  void check_bounds(std::span<const Key<Owner>> keys, const Owner& owner) {
    for (const auto& key : keys)
      if (key.alias_of.empty())
        std::visit([&](const auto field) { check_field(key, owner, field); }, key.field);
  }

  template <class Owner, class Field>
  void check_field(const Key<Owner>& key, const Owner& owner, Field field) {
    if constexpr (requires { if_set(owner.*field); })
      if (const auto* const setting = if_set(owner.*field)) check_value(key, *setting);
  }

  template <class Owner, class T>
  void check_value(const Key<Owner>& key, const Located<T>& setting) {
    const auto size = measure(setting.value);
    if (!size || (*size == 0 && key.bounds.zero)) return;
    constexpr bool is_time = std::is_same_v<T, Micros>;
    const auto say = [&](std::string_view comparison, std::int64_t bound) {
      const auto spelled =
          is_time && Micros{bound} == Micros{1s} ? "one second" : bound_text<T>(bound);
      problem(setting.at,
              fmt::format("{} is {} than {}: {}", setting.key.empty() ? key.name : setting.key,
                          comparison, spelled, value_text(setting.value)));
    };
    if (*size < key.bounds.lowest) say(is_time ? "shorter" : "smaller", key.bounds.lowest);
    if (*size > key.bounds.highest) say(is_time ? "longer" : "larger", key.bounds.highest);
  }

  template <class Owner>
  void check_value(const Key<Owner>& key, const Located<std::vector<Micros>>& times) {
    for (const auto time : times.value)
      check_value(key, Located<Micros>{time, times.at, times.key});
  }

  /// What `searchd` and tables share. `above`: the level that `here` inherits from.
  void check_inherited(const InheritedByTables& here, const InheritedByTables& above,
                       std::string_view level) {
    check_ping_path(here.ping_path);
    check_preference(here, above, level);
    if (here.agent_retry_count)
      check_retries(here.agent_retry_count->value, here.agent_retry_count->at);
    check_timeouts(here);
    check_search_times(here);
  }

  void check_ping_path(const std::optional<Located<std::string>>& path) {
    if (path && !is_target(path->value))
      problem(path->at,
              fmt::format("ping_path is not the path of a URL: {}", in_quotes(path->value)));
  }

  /// A preference belongs to one level as a whole, so its parts need the mode at that level
  /// (SS-081).
  void check_preference(const InheritedByTables& here, const InheritedByTables& above,
                        std::string_view level) {
    const auto without_mode = [&](std::string_view key, const Place& at) {
      problem(at, fmt::format("{} needs a read_preference beside it in {}, as in "
                              "read_preference = nearest",
                              key, level));
    };
    const bool has_mode =
        here.read_preference && is_own(here.read_preference, above.read_preference);
    if (here.tag_sets && is_own(here.tag_sets, above.tag_sets) && !has_mode)
      without_mode("tag_sets", here.tag_sets->at);
    const auto& staleness = here.max_staleness;
    if (!staleness || !is_own(staleness, above.max_staleness)) return;
    if (!has_mode) without_mode("max_staleness", staleness->at);
    if (staleness->value > 1s && staleness->value % 1s != 0us)
      problem(staleness->at, fmt::format("max_staleness is not a whole number of seconds: {}",
                                         time_text(staleness->value)));
  }

  void check_retries(unsigned count, const Place& at) {
    if (count > kSensibleRetries)
      notice(at, fmt::format("{} retries: more than {} rarely help", count, kSensibleRetries));
  }

  void check_timeouts(const InheritedByTables& owner) {
    const auto whole = searchd_.request_timeout.value;
    for (const auto& [name, timeout] :
         {std::pair("agent_connect_timeout", owner.agent_connect_timeout),
          std::pair("agent_query_timeout", owner.agent_query_timeout)})
      if (timeout.value > whole)
        notice(timeout.at.line != 0 ? timeout.at : searchd_.request_timeout.at,
               never_reached(name, timeout.value));
  }

  /// Checks the times of single attempts and of parts of an attempt.
  void check_search_times(const InheritedByTables& owner) {
    const auto whole = searchd_.request_timeout.value;
    if (const auto& first = owner.agent_first_byte_timeout; first && first->value > whole)
      notice(first->at, never_reached("agent_first_byte_timeout", first->value));
    if (!owner.search_timeouts) return;
    for (const auto time : owner.search_timeouts->value)
      if (time > whole) notice(owner.search_timeouts->at, never_reached("search_timeouts", time));
  }

  /// A burst must hold at least one token, as only whole ones are taken.
  void check_burst(std::string_view name, const Located<Rate>& rate, const Located<Micros>& burst) {
    if (!rate.value.limits() || rate.value.in(burst.value) >= 1) return;
    problem(
        first_set(rate, burst),
        fmt::format("{}_rate = {} admits nothing: {}_burst = {} is too short to save up one; "
                    "make it at least {}",
                    name, text(rate.value), name, time_text(burst.value),
                    time_text((rate.value.per + Micros(rate.value.count - 1)) / rate.value.count)));
  }

  void check_discovery(const TableSettings& table) {
    if (table.discovery && table.discovery->value.access.tls) return;
    for (const auto& [key, setting] : {std::pair("discovery_ca", &table.discovery_ca),
                                       {"discovery_certificate", &table.discovery_certificate},
                                       {"discovery_token", &table.discovery_token}})
      if (*setting)
        problem((*setting)->at,
                fmt::format("{} has no effect: it needs `discovery` with an URL that begins with "
                            "https://",
                            key));
  }

  void check_shard(const TableSettings& table, const ShardSettings& shard) {
    check_bounds(line_keys(), shard);
    for (const auto& mirror : shard.mirrors) check_bounds(mirror_keys(), mirror);
    check_ping_path(shard.ping_path);
    if (shard.mirrors.size() > kMostMirrors)
      problem(shard.mirrors[kMostMirrors].at,
              fmt::format("a line has at most {} mirrors, this one has {}", kMostMirrors,
                          shard.mirrors.size()));
    for (const auto& mirror : shard.mirrors) {
      check_not_ourselves(mirror);
      check_has_server(mirror);
    }
    std::set<std::pair<Address, std::vector<std::string>>> seen;
    for (const auto& mirror : shard.mirrors)
      if (!seen.emplace(mirror.address, mirror.tables).second)
        notice(mirror.at, fmt::format("{} is already a mirror of this line", text(mirror.address)));
    if (shard.ha_strategy && is_own(shard.ha_strategy, table.ha_strategy) &&
        shard.mirrors.size() == 1)
      notice(shard.ha_strategy->at, "ha_strategy has no effect: the line has one agent");
    if (shard.retry_count) check_retries(*shard.retry_count, shard.at);
    const auto& limit = searchd_.persistent_connections_limit;
    if (shard.persistent && limit && limit->value == 0)
      notice(shard.at, "no connection is kept: persistent_connections_limit is 0");
  }

  /// A connection to the unspecified address goes to this machine.
  void check_has_server(const MirrorSettings& mirror) {
    const auto& host = mirror.address.host;
    const auto kind = kind_without_server(host);
    if (!kind.empty() && kind != "unspecified")
      problem(mirror.at, fmt::format("no agent has the {} address {}", kind, host));
  }

  /// Refuses an agent that is karmad itself: karmad would send each query to itself without end.
  void check_not_ourselves(const MirrorSettings& mirror) {
    for (const auto& listen : searchd_.listen)
      if (leads_here(listen.address, mirror.address, host_))
        return problem(mirror.at, fmt::format("{} is karmad itself (listen, {}): each query would "
                                              "be sent to karmad again without end",
                                              text(mirror.address), text(listen.at)));
  }

  void check_listen() {
    for (auto listen = searchd_.listen.begin(); listen != searchd_.listen.end(); ++listen) {
      const auto is_same = [&](const Listen& before) {
        return overlap(before.address, listen->address);
      };
      if (!listen->address.is_unix() && listen->address.port == 0) continue;  // all differ
      const auto same = std::find_if(searchd_.listen.begin(), listen, is_same);
      if (same != listen)
        problem(listen->at, fmt::format("{} is already used by the listen in {}",
                                        text(listen->address), text(same->at)));
    }
    for (const auto& listen : searchd_.listen)
      if (listen.proxy && searchd_.trusted_proxies.value.empty() && !is_local(listen.address))
        notice(listen.at, fmt::format("{} believes the PROXY header of everyone who can connect to "
                                      "it: set trusted_proxies",
                                      text(listen)));
    SocketAccess access;
    if (const auto& owner = searchd_.listen_socket_owner)
      if (const auto read = read_owner(owner->value, access); !read)
        problem(owner->at, fmt::format("listen_socket_owner: {}", read.error().why));
  }

  static bool is_local(const Address& address) {
    return address.is_unix() || address.host == "localhost" || address.host == "::1" ||
           address.host.starts_with("127.");
  }

  void check_tls() {
    const auto& s = searchd_;
    const auto& certificates = s.tls_certificate;
    for (const auto& listen : s.listen)
      if (listen.tls && !certificates)
        problem(listen.at, fmt::format("{} needs tls_certificate", text(listen)));
    if (certificates && s.tls_key && s.tls_key->value.size() != certificates->value.size())
      problem(s.tls_key->at,
              fmt::format("tls_key has {} and tls_certificate {}: each certificate needs its key, "
                          "in the same order",
                          s.tls_key->value.size(), certificates->value.size()));
    if (s.tls_client_names && !s.tls_client_ca)
      problem(s.tls_client_names->at,
              "tls_client_names needs tls_client_ca: without roots no client is asked for a "
              "certificate");
    if (certificates) return;
    const auto needs = [&](std::string_view key, const auto& setting) {
      if (setting)
        problem(setting->at, fmt::format("{} has no effect without tls_certificate", key));
    };
    needs("tls_key", s.tls_key);
    needs("tls_client_ca", s.tls_client_ca);
    needs("tls_client_names", s.tls_client_names);
  }

  /// A client of an admin listener can take all mirrors out.
  void check_admin() {
    const auto& s = searchd_;
    if (s.admin_token_file) return;
    for (const auto& listen : s.listen)
      if (listen.admin && !is_local(listen.address))
        problem(listen.at, fmt::format("{} can be reached from other hosts: set admin_token_file, "
                                       "or listen on 127.0.0.1 or a unix socket",
                                       text(listen)));
    if (s.admin_on_query_port.value)
      problem(s.admin_on_query_port.at,
              "admin_on_query_port needs admin_token_file: all clients could take mirrors out");
  }

  /// Clients of MySQL send no tokens.
  void check_auth() {
    for (const auto& listen : searchd_.listen) {
      if (listen.auth && (listen.no_auth || listen.admin))
        problem(listen.at, fmt::format("{}: its clients need no credentials, and it names a file "
                                       "with some; leave out one of the two",
                                       text(listen)));
      if (listen.no_auth && !searchd_.auth && !listen.auth)
        notice(listen.at, "no-auth has no effect: there is no `auth`");
      const auto* const auth = searchd_.auth_of(listen);
      if (listen.mysql && auth != nullptr && auth->kind == ClientAuth::Kind::bearer)
        problem(
            listen.at,
            fmt::format("clients of MySQL, which {} is for, have no tokens: give it users=FILE{}",
                        text(listen), listen.auth ? "" : ", or no-auth"));
    }
  }

  void check_client_header() {
    const auto& name = searchd_.client_request_header;
    if (!name) return;
    constexpr std::string_view kToken =  // RFC 9110 section 5.6.2
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
    if (name->value.empty() || name->value.find_first_not_of(kToken) != std::string::npos)
      problem(name->at, fmt::format("client_request_header = {} is no name of a header field",
                                    in_quotes(name->value)));
  }

  void check_rest() {
    const auto& s = searchd_;
    check_inherited(s, {}, "searchd");
    if (s.agent_retry_delay.value > kSensibleRetryDelay)
      notice(s.agent_retry_delay.at, fmt::format("agent_retry_delay is longer than one second: {}",
                                                 time_text(s.agent_retry_delay.value)));
    check_burst("ingress_connection", s.ingress_connection_rate, s.ingress_connection_burst);
    check_burst("ingress_request", s.ingress_request_rate, s.ingress_request_burst);
    check_burst("client_request", s.client_request_rate, s.client_request_burst);
    check_burst("auth_failure", s.auth_failure_rate, s.auth_failure_burst);
    check_tickets();
    check_probing();
    check_part("access_log_sample", s.access_log_sample, 0, 1);
    check_part("compress_share", s.compress_share, 0, 1);
    check_tls();
    check_takeover_socket(s);
    check_order(notices_, "overload_backoff_base", s.overload_backoff_base, "overload_backoff_cap",
                s.overload_backoff_cap);
    check_order(problems_, "max_in_flight_min", s.max_in_flight_min, "max_in_flight_max",
                s.max_in_flight_max);
    if (s.ping_timeout && s.ha_ping_interval.value > 0us)
      check_order(notices_, "ping_timeout", *s.ping_timeout, "ha_ping_interval",
                  s.ha_ping_interval);
    check_order(notices_, "ha_ping_interval", s.ha_ping_interval, "ha_period_karma",
                s.ha_period_karma);
    if (const auto& memory = s.memory_limit;
        memory.value.bytes != 0 && memory.value.bytes / 2 < s.max_packet_size.value)
      notice(memory.at,
             fmt::format("memory_limit ({}) is less than twice max_packet_size ({}): one "
                         "answer can take all of it",
                         text(memory.value), size_text(s.max_packet_size.value)));
    check_order(notices_, "max_header_size", s.max_header_size, "max_packet_size",
                s.max_packet_size);
  }

  /// A relative path would depend on the folder in which a process was started.
  void check_takeover_socket(const ListenerSettings& s) {
    if (!s.takeover_socket) return;
    const auto& [path, at, key] = *s.takeover_socket;
    if (!path.starts_with('/'))
      return problem(at, fmt::format("takeover_socket is not the path of a unix socket, as in "
                                     "/run/karmad/takeover: {}",
                                     in_quotes(path)));
    if (const auto valid = parse_unix_path(path); !valid)
      return problem(at, "takeover_socket: " + valid.error().why);
    for (const auto& listen : s.listen)
      if (listen.address.unix_path == path)
        problem(at, fmt::format("takeover_socket is also the path of the listen in {}",
                                text(listen.at)));
  }

  /// Checks the limits of throughput probing (AC-020 … AC-025).
  void check_probing() {
    const auto& s = searchd_;
    const auto& least = s.throughput_probing_min_concurrency;
    const auto& most = s.throughput_probing_max_concurrency;
    const auto& initial = s.throughput_probing_initial_concurrency;
    if (least.value > most.value) {
      const bool by_least = least.at.line > most.at.line;
      problem(by_least ? least.at : most.at,
              by_least ? fmt::format("throughput_probing_min_concurrency is larger than "
                                     "throughput_probing_max_concurrency ({}): {}",
                                     most.value, least.value)
                       : fmt::format("throughput_probing_max_concurrency is smaller than "
                                     "throughput_probing_min_concurrency ({}): {}",
                                     least.value, most.value));
    }
    const std::uint64_t pools = is_probed(s.search_tickets) == is_probed(s.update_tickets) ? 2 : 1;
    if (least.value <= most.value && initial.value != 0 &&
        (initial.value < pools * least.value || initial.value > pools * most.value))
      notice(initial.at,
             fmt::format("throughput_probing_initial_concurrency ({}) is not within {} … {}: the "
                         "nearest of them is taken",
                         initial.value, pools * least.value, pools * most.value));
    check_part("throughput_probing_read_write_ratio", s.throughput_probing_read_write_ratio, 0, 1);
    const auto& weight = s.throughput_probing_concurrency_moving_average_weight;
    if (weight.value <= 0)
      problem(weight.at,
              "throughput_probing_concurrency_moving_average_weight must be more than 0");
    else
      check_part("throughput_probing_concurrency_moving_average_weight", weight, 0, 1);
    check_part("throughput_probing_step_multiple", s.throughput_probing_step_multiple, 0.01, 0.5);
    check_part("throughput_probing_evidence_step", s.throughput_probing_evidence_step, 0.01, 1);
    check_part("throughput_probing_evidence_gain", s.throughput_probing_evidence_gain, 0, 1);
    check_part("outlier_latency_factor", s.outlier_latency_factor, 1.1, 1000);
    check_order(problems_, "outlier_time", s.outlier_time, "outlier_longest_time",
                s.outlier_longest_time);
  }

  void check_part(std::string_view key, const Located<double>& part, double least, double most) {
    if (part.value < least)
      problem(part.at, fmt::format("{} is smaller than {}: {}", key, least, part.value));
    if (part.value > most)
      problem(part.at, fmt::format("{} is larger than {}: {}", key, most, part.value));
  }

  void check_tickets() {
    const auto& s = searchd_;
    check_order(notices_, "ticket_queue_target", s.ticket_queue_target, "ticket_queue_interval",
                s.ticket_queue_interval);
    if (s.ticket_queue_timeout && s.ticket_queue_timeout->value > s.request_timeout.value)
      notice(s.ticket_queue_timeout->at,
             never_reached("ticket_queue_timeout", s.ticket_queue_timeout->value));
  }

  const InstanceSettings& searchd_;
  const ThisHost& host_;
  Problems& problems_;
  Problems& notices_;
};

bool has_agent_tls(const TableSettings& table) {
  const auto encrypts = [](const auto& mirror) { return mirror.agent_tls.value != AgentTls::no; };
  const auto any = [&](const std::vector<ShardSettings>& lines) {
    return std::ranges::any_of(
        lines, [&](const auto& line) { return std::ranges::any_of(line.mirrors, encrypts); });
  };
  return encrypts(table) || any(table.shards) || any(table.blackholes);
}

/// Warns of settings that have no effect because of others. Settings that a request may switch on
/// count as in effect.
class EffectChecker {
 public:
  EffectChecker(const Settings& settings, Problems& notices)
      : settings_(settings), s_(settings.searchd), notices_(notices) {}

  void run() {
    check_admission();
    check_rates();
    check_tickets();
    check_probing();
    check_mirrors();
    check_slots();
    check_rest();
    for (const auto& table : settings_.tables) check_table(table);
    check_readiness();
  }

 private:
  using Keys = std::initializer_list<std::string_view>;

  void warn(std::string_view key, const Place& at, std::string_view why) {
    if (at.line != 0)
      notices_.push_back(
          {at, fmt::format("{} has no effect: {}", key, why), Problem::Severity::warning});
  }
  /// Of the settings that the owner itself has, not those that it inherits from one like `above`.
  template <class Owner>
  void warn(std::string_view why, Keys names, std::span<const Key<Owner>> keys, const Owner& owner,
            const Owner& above) {
    for (const auto name : names) {
      const auto& key = *std::ranges::find(keys, name, &Key<Owner>::name);
      std::visit([&](auto field) { warn_of(key, field, owner, above, why); }, key.field);
    }
  }
  template <class Owner, class Field>
  void warn_of(const Key<Owner>& key, Field field, const Owner& owner, const Owner& above,
               std::string_view why) {
    if constexpr (requires { place_of(owner.*field); })
      if (is_own(owner.*field, above.*field)) warn(key.name, place_of(owner.*field), why);
  }
  void warn(std::string_view why, Keys names) { warn(why, names, searchd_keys(), s_, {}); }

  template <class Is>
  bool any_table(Is is) const {
    return std::ranges::any_of(settings_.tables, is);
  }

  /// Limits with admission = off.
  void check_admission() {
    if (s_.admission.value != AdmissionMode::off) return;
    const auto why = fmt::format("admission = off ({})", text(s_.admission.at));
    warn(why, {"ingress_tickets", "search_tickets", "update_tickets", "ingress_connection_rate",
               "ingress_request_rate", "client_request_rate", "max_in_flight"});
    for (const auto& table : settings_.tables) {
      warn("request_rate", table.request_rate.at, why);
      warn("max_in_flight", table.max_in_flight.at, why);
      for (const auto& shard : table.shards)
        for (const auto& mirror : shard.mirrors)
          warn("max_in_flight", mirror.max_in_flight.at, why);
    }
  }

  void check_rates() {
    if (!s_.ingress_connection_rate.value.limits())
      warn("ingress_connection_rate is unlimited",
           {"ingress_connection_burst", "ingress_connection_queue", "ingress_connection_bypass"});
    const bool requests = s_.ingress_request_rate.value.limits();
    const bool clients = s_.client_request_rate.value.limits();
    if (!requests) warn("ingress_request_rate is unlimited", {"ingress_request_burst"});
    if (!clients)
      warn("client_request_rate is unlimited",
           {"client_request_burst", "client_request_remembered", "client_request_header"});
    if (!requests && !clients)
      warn("ingress_request_rate and client_request_rate are unlimited",
           {"ingress_request_exempt", "ingress_request_exempt_apps"});
  }

  void check_tickets() {
    if (s_.ticket_queue_discipline.value == QueueOrder::fifo)
      warn("ticket_queue_discipline = fifo", {"ticket_queue_target", "ticket_queue_interval"});
    if (!s_.low_priority.value) warn("low_priority = 0", {"low_priority_tickets"});
  }

  void check_probing() {
    if (!is_probed(s_.search_tickets) && !is_probed(s_.update_tickets))
      warn("neither search_tickets nor update_tickets is auto",
           {"throughput_probing_initial_concurrency", "throughput_probing_min_concurrency",
            "throughput_probing_max_concurrency", "throughput_probing_evidence",
            "throughput_probing_evidence_step", "throughput_probing_evidence_gain",
            "throughput_probing_concurrency_adjustment_interval"});
    if (!is_probed(s_.search_tickets) || !is_probed(s_.update_tickets))
      warn("search_tickets and update_tickets are not both auto",
           {"throughput_probing_read_write_ratio"});
    if (s_.throughput_probing_evidence.value != 0)
      warn("throughput_probing_evidence is not 0",
           {"throughput_probing_concurrency_moving_average_weight",
            "throughput_probing_step_multiple"});
    else
      warn("throughput_probing_evidence = 0",
           {"throughput_probing_evidence_step", "throughput_probing_evidence_gain"});
  }

  /// Settings of what no table uses.
  void check_mirrors() {
    if (settings_.tables.empty()) return;
    if (!any_table([](const auto& table) { return table.breaker.value; }))
      warn("no table has breaker = 1", {"breaker_reads", "breaker_writes", "breaker_window"});
    if (!any_table([](const auto& table) { return table.outlier.value != Outlier::off; }))
      warn("no table has an outlier other than off",
           {"outlier_failures", "outlier_failure_percent", "outlier_latency_factor", "outlier_time",
            "outlier_longest_time", "outlier_most_percent", "outlier_panic_percent"});
    if (s_.hedge_disabled.value)
      warn("hedge_disabled = 1", {"hedge", "hedge_step", "hedge_max", "hedge_max_load_percent"});
  }

  void check_slots() {
    if (settings_.tables.empty()) return;
    const auto any_mirror = [this](auto is) {
      return any_table([&](const TableSettings& table) {
        return std::ranges::any_of(table.shards, [&](const auto& shard) {
          return std::ranges::any_of(shard.mirrors, is);
        });
      });
    };
    if (!any_mirror([](const auto& mirror) { return mirror.max_in_flight.value == "auto"; }))
      warn("no mirror has max_in_flight = auto",
           {"max_in_flight_min", "max_in_flight_max", "max_in_flight_initial",
            "max_in_flight_slack", "max_in_flight_smoothing"});
    if (!any_mirror([](const auto& mirror) {
          return mirror.max_in_flight.value != "unlimited" && mirror.max_in_flight.value != "0";
        }))
      warn("max_in_flight is unlimited everywhere", {"max_in_flight_queue"});
  }

  void check_rest() {
    if (s_.compress.value == Compress::off)
      warn("compress = off", {"compress_min_size", "compress_level", "compress_share"});
    if (std::ranges::none_of(s_.listen, [](const auto& each) { return each.address.is_unix(); }))
      warn("no listen is a unix socket", {"listen_socket_mode", "listen_socket_owner"});
    if (!s_.access_log)
      warn("there is no access_log", {"access_log_format", "access_log_sample", "access_log_slow"});
    else if (s_.access_log_sample.value == 1)
      warn("with access_log_sample = 1 all are logged", {"access_log_slow"});
    const auto has_auth = [](const auto& each) { return each.auth != nullptr; };
    if (!s_.auth && std::ranges::none_of(s_.listen, has_auth))
      warn("clients need no credentials: there is no auth",
           {"auth_failure_rate", "auth_failure_burst"});
    const auto has_passwords = [this](const Listen& each) {
      const auto* auth = s_.auth_of(each);
      return auth != nullptr && auth->kind == ClientAuth::Kind::basic;
    };
    if (std::ranges::none_of(s_.listen, has_passwords))
      warn("no listener has auth = basic", {"auth_remembered"});
    if (!any_table(has_agent_tls))
      warn("no agent has agent_tls = yes",
           {"agent_tls_ca", "agent_tls_certificate", "agent_tls_name"});
    if (s_.ha_ping_interval.value == Micros{0})
      warn("ha_ping_interval = 0: there are no pings", {"ping_timeout", "interrupt_unreachable"});
  }

  void check_table(const TableSettings& table) {
    const auto above = empty_table(s_);
    const auto own = [&](std::string_view why, Keys names) {
      warn(why, names, table_keys(), table, above);
    };
    if (!has_agent_tls(table))
      own("no agent of the table has agent_tls = yes",
          {"agent_tls_ca", "agent_tls_certificate", "agent_tls_name"});
    const auto has_one = [](const ShardSettings& shard) { return shard.mirrors.size() <= 1; };
    if (!table.shards.empty() && std::ranges::all_of(table.shards, has_one))
      own("each shard of the table has one agent",
          {"hedge", "hedge_step", "hedge_max", "breaker", "outlier"});
    else if (s_.hedge_disabled.value)
      own("hedge_disabled = 1", {"hedge", "hedge_step", "hedge_max"});
    if (table.hedge_max.value == 0 && table.hedge.value != "off")
      warn("hedge", table.hedge.at, "hedge_max = 0");
    if (table.shards.size() == 1) own("the table has one shard", {"partial_results"});
    if (!table.request_rate.value.limits()) own("request_rate is unlimited", {"request_burst"});
    if (table.ping_type.value == "none") own("ping_type = none", {"ping_path"});
  }

  void check_readiness() {
    const auto& tables = settings_.tables;
    if (tables.empty() || std::ranges::any_of(tables, [](const auto& table) {
          return table.required.value == Required::yes;
        }))
      return;
    notices_.push_back({tables.front().required.at,
                        "no table is required: /readyz says 200 even if nothing can be searched",
                        Problem::Severity::warning});
  }

  const Settings& settings_;
  const InstanceSettings& s_;
  Problems& notices_;
};

}  // namespace

bool is_path(std::string_view text) {
  return is_target(text) && text.find('?') == std::string_view::npos;
}

void check(const Settings& settings, const ThisHost& host, Problems& problems, Problems& notices) {
  Checker checker(settings.searchd, host, problems, notices);
  checker.check_instance();
  for (const auto& table : settings.tables) checker.check_table(table);
  EffectChecker(settings, notices).run();
}

}  // namespace karmad
