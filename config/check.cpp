#include "config/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/attempts.hpp"
#include "config/values.hpp"

namespace karmad {

namespace {

constexpr unsigned kSensibleRetries = 8;    // the search server recommends no more
constexpr Micros kSensibleRetryDelay = 1s;  // likewise

/// What may stand in a request line: a slash, then visible ASCII without a fragment.
bool is_target(std::string_view text) {
  return text.starts_with('/') && std::all_of(text.begin(), text.end(), [](char c) {
           return c > 0x20 && c < 0x7f && c != '#';
         });
}

class Checker {
 public:
  Checker(const Settings& settings, Problems& problems, Problems& notices)
      : settings_(settings), searchd_(settings.searchd), problems_(problems), notices_(notices) {}

  void run() {
    check_bounds(searchd_keys(), searchd_);
    check_listen();
    check_instance();
    check_admission();
    for (const auto& table : settings_.tables) check_table(table);
  }

 private:
  void problem(const Place& at, std::string message) {
    problems_.push_back({at, std::move(message)});
  }
  void notice(const Place& at, std::string message) {
    notices_.push_back({at, std::move(message)});
  }

  template <class Owner>
  void check_bounds(std::span<const Key<Owner>> keys, const Owner& owner) {
    for (const auto& key : keys)
      if (key.alias_of.empty())
        std::visit([&](const auto field) { check_field(key, owner, field); }, key.field);
  }

  template <class Owner, class Other>
  void check_field(const Key<Owner>&, const Owner&, Other) {}
  template <class Owner, class T>
  void check_field(const Key<Owner>& key, const Owner& owner, Located<T> Owner::*field) {
    check_value(key, owner.*field);
  }
  template <class Owner, class T>
  void check_field(const Key<Owner>& key, const Owner& owner,
                   std::optional<Located<T>> Owner::*field) {
    if (owner.*field) check_value(key, *(owner.*field));
  }

  template <class Owner, class T>
  void check_value(const Key<Owner>& key, const Located<T>& setting) {
    const auto size = measure(setting.value);
    if (!size || (*size == 0 && key.bounds.zero)) return;
    const auto say = [&](std::string_view comparison, std::int64_t bound) {
      problem(setting.at, fmt::format("{} is {} than {}: {}", key.name, comparison, spell<T>(bound),
                                      value_text(setting.value)));
    };
    constexpr bool is_time = std::is_same_v<T, Micros>;
    if (*size < key.bounds.lowest) say(is_time ? "shorter" : "smaller", key.bounds.lowest);
    if (*size > key.bounds.highest) say(is_time ? "longer" : "larger", key.bounds.highest);
  }

  template <class Owner>
  void check_value(const Key<Owner>& key, const Located<std::vector<Micros>>& times) {
    for (const auto time : times.value) check_value(key, Located<Micros>{time, times.at});
  }

  template <class T>
  static std::string spell(std::int64_t bound) {
    if constexpr (std::is_same_v<T, Micros>)
      return Micros{bound} == Micros{1s} ? "one second" : time_text(Micros{bound});
    else if constexpr (std::is_integral_v<T>)
      return value_text(static_cast<T>(bound));
    else if constexpr (std::is_same_v<T, TicketCount>)
      return fmt::format("{}", bound);
    else if constexpr (std::is_same_v<T, MemorySize>)
      return size_text(static_cast<std::uint64_t>(bound));
    else
      return {};
  }

  void check_listen() {
    std::map<Address, Place> seen;
    const auto everywhere = [](const Address& address) {
      return address.host.empty() || address.host == "*" || address.host == "0.0.0.0";
    };
    for (const auto& listen : searchd_.listen) {
      if (!listen.address.is_unix() && listen.address.port == 0) continue;  // each gets its own
      for (const auto& [address, at] : seen) {
        const bool same_port =
            !address.is_unix() && !listen.address.is_unix() && address.port == listen.address.port;
        if (address != listen.address &&
            !(same_port && (everywhere(address) || everywhere(listen.address))))
          continue;
        problem(listen.at, fmt::format("{} is taken already by the listen in {}",
                                       text(listen.address), text(at)));
        break;
      }
      seen.emplace(listen.address, listen.at);
    }
  }

  /// Where a client reaches this listener from the same machine.
  static bool is_here(const Address& listen, const Address& agent) {
    if (listen.is_unix() || agent.is_unix()) return listen == agent;
    const auto& host = agent.host;
    const bool local = host == "localhost" || host.starts_with("127.") || host == "::1";
    const bool everywhere = listen.host.empty() || listen.host == "*" || listen.host == "0.0.0.0" ||
                            listen.host == "::";
    const bool same_local = local && listen.host == "localhost";
    return listen.port == agent.port && listen.port != 0 &&
           (listen.host == host || (everywhere && local) || same_local ||
            (host == "localhost" && (listen.host == "127.0.0.1" || listen.host == "::1")));
  }

  /// A query sent there would come back again and again.
  void check_not_ourselves(const MirrorSettings& mirror) {
    for (const auto& listen : searchd_.listen)
      if (is_here(listen.address, mirror.address))
        return problem(mirror.at, fmt::format("{} is karmad itself (listen, {}): a query would go "
                                              "round in circles",
                                              text(mirror.address), text(listen.at)));
  }

  /// Limits that admission = off leaves without effect.
  void check_admission() {
    const auto& s = searchd_;
    if (s.admission.value != AdmissionMode::off) return;
    const auto warn = [&](std::string_view key, const Place& at) {
      if (at.line != 0)
        notices_.push_back(
            {at, fmt::format("{} has no effect: admission = off ({})", key, text(s.admission.at)),
             Problem::Severity::warning});
    };
    warn("ingress_tickets", s.ingress_tickets.at);
    warn("search_tickets", s.search_tickets.at);
    warn("update_tickets", s.update_tickets.at);
    warn("ingress_connection_rate", s.ingress_connection_rate.at);
    warn("ingress_request_rate", s.ingress_request_rate.at);
    warn("client_request_rate", s.client_request_rate.at);
    warn("max_in_flight", s.max_in_flight.at);
    for (const auto& table : settings_.tables) {
      warn("request_rate", table.request_rate.at);
      if (table.max_in_flight) warn("max_in_flight", table.max_in_flight->at);
      for (const auto& shard : table.shards)
        for (const auto& mirror : shard.mirrors)
          if (mirror.max_in_flight) warn("max_in_flight", mirror.max_in_flight->at);
    }
  }

  void check_instance() {
    const auto& s = searchd_;
    check_ping_path(s.ping_path);
    check_preference(s, "searchd");
    if (s.agent_retry_delay.value > kSensibleRetryDelay)
      notice(s.agent_retry_delay.at, fmt::format("agent_retry_delay is longer than one second: {}",
                                                 time_text(s.agent_retry_delay.value)));
    if (s.agent_retry_count) check_retries(s.agent_retry_count->value, s.agent_retry_count->at);
    check_timeouts(s.agent_connect_timeout, s.agent_query_timeout);
    check_search_times(s);
    check_burst("ingress_connection", s.ingress_connection_rate, s.ingress_connection_burst);
    check_burst("ingress_request", s.ingress_request_rate, s.ingress_request_burst);
    check_burst("client_request", s.client_request_rate, s.client_request_burst);
    check_tickets();
    check_probing();
    if (s.overload_backoff_base.value > s.overload_backoff_cap.value)
      notice(s.overload_backoff_base.at,
             fmt::format("overload_backoff_base ({}) is longer than overload_backoff_cap ({})",
                         time_text(s.overload_backoff_base.value),
                         time_text(s.overload_backoff_cap.value)));
    if (s.max_in_flight_min.value > s.max_in_flight_max.value)
      problem(s.max_in_flight_min.at.line != 0 ? s.max_in_flight_min.at : s.max_in_flight_max.at,
              fmt::format("max_in_flight_min ({}) is larger than max_in_flight_max ({})",
                          s.max_in_flight_min.value, s.max_in_flight_max.value));
    if (s.ping_timeout && s.ha_ping_interval.value > 0us &&
        s.ping_timeout->value > s.ha_ping_interval.value)
      notice(s.ping_timeout->at,
             fmt::format("ping_timeout ({}) is longer than ha_ping_interval ({})",
                         time_text(s.ping_timeout->value), time_text(s.ha_ping_interval.value)));
    if (s.ha_ping_interval.value > s.ha_period_karma.value)
      notice(s.ha_ping_interval.at,
             fmt::format("ha_ping_interval ({}) is longer than ha_period_karma ({})",
                         time_text(s.ha_ping_interval.value), time_text(s.ha_period_karma.value)));
    if (const auto& memory = s.memory_limit;
        memory.value.bytes != 0 && memory.value.bytes / 2 < s.max_packet_size.value)
      notice(memory.at,
             fmt::format("memory_limit ({}) is less than twice max_packet_size ({}): one "
                         "answer can take all of it",
                         memory_text(memory.value), size_text(s.max_packet_size.value)));
    if (s.max_header_size.value > s.max_packet_size.value)
      notice(s.max_header_size.at,
             fmt::format("max_header_size ({}) is larger than "
                         "max_packet_size ({})",
                         size_text(s.max_header_size.value), size_text(s.max_packet_size.value)));
  }

  /// What a burst holds, whole ones are taken from.
  void check_burst(std::string_view name, const Located<Rate>& rate, const Located<Micros>& burst) {
    if (!rate.value.limits() || rate.value.in(burst.value) >= 1) return;
    problem(rate.at, fmt::format("{}_rate = {} lets nothing in: {}_burst ({}) holds less than one; "
                                 "make it at least {}",
                                 name, rate_text(rate.value), name, time_text(burst.value),
                                 time_text((rate.value.per + Micros(rate.value.count - 1)) /
                                           rate.value.count)));
  }

  /// Limits of throughput probing (AC-020 … AC-025).
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
      return;
    }
    const auto is_probed = [](const Located<TicketCount>& tickets) {
      return tickets.value.kind == TicketCount::Kind::automatic ? 1u : 0u;
    };
    const auto probed = is_probed(s.search_tickets) + is_probed(s.update_tickets);
    const auto pools = std::uint64_t{probed == 0 ? 2 : probed};
    if (initial.value != 0 &&
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
    check_part("throughput_probing_concurrency_moving_average_weight", weight, 0, 1);
    check_part("throughput_probing_step_multiple", s.throughput_probing_step_multiple, 0.01, 0.5);
    check_part("throughput_probing_evidence_step", s.throughput_probing_evidence_step, 0.01, 1);
    check_part("throughput_probing_evidence_gain", s.throughput_probing_evidence_gain, 0, 1);
  }

  void check_part(std::string_view key, const Located<double>& part, double least, double most) {
    if (part.value < least)
      problem(part.at, fmt::format("{} is smaller than {}: {}", key, least, part.value));
    if (part.value > most)
      problem(part.at, fmt::format("{} is larger than {}: {}", key, most, part.value));
  }

  void check_tickets() {
    const auto& s = searchd_;
    if (s.ticket_queue_target.value > s.ticket_queue_interval.value)
      notice(s.ticket_queue_target.at,
             fmt::format("ticket_queue_target ({}) is longer than ticket_queue_interval ({})",
                         time_text(s.ticket_queue_target.value),
                         time_text(s.ticket_queue_interval.value)));
    if (s.ticket_queue_timeout && s.ticket_queue_timeout->value > s.request_timeout.value)
      notice(s.ticket_queue_timeout->at,
             fmt::format("ticket_queue_timeout ({}) can never be reached: request_timeout ends the "
                         "whole request after {}",
                         time_text(s.ticket_queue_timeout->value),
                         time_text(s.request_timeout.value)));
  }

  void check_ping_path(const std::optional<Located<std::string>>& path) {
    if (path && !is_target(path->value))
      problem(path->at,
              fmt::format("ping_path is not the path of a URL: {}", in_quotes(path->value)));
  }

  /// A preference is taken whole from one level, so its parts need the mode beside them (SS-081).
  template <class Owner>
  void check_preference(const Owner& owner, std::string_view level) {
    const auto without_mode = [&](std::string_view key, const Place& at) {
      problem(at, fmt::format("{} needs a read_preference beside it in {}, as in "
                              "read_preference = nearest",
                              key, level));
    };
    if (owner.tag_sets && !owner.read_preference) without_mode("tag_sets", owner.tag_sets->at);
    const auto& staleness = owner.max_staleness;
    if (!staleness) return;
    if (!owner.read_preference) without_mode("max_staleness", staleness->at);
    if (staleness->value > 1s && staleness->value % 1s != 0us)
      problem(staleness->at, fmt::format("max_staleness is not a whole number of seconds: {}",
                                         time_text(staleness->value)));
  }

  void check_retries(unsigned count, const Place& at) {
    if (count > kSensibleRetries)
      notice(at, fmt::format("{} retries: more than {} are hardly ever of use", count,
                             kSensibleRetries));
  }

  void check_timeouts(const Located<Micros>& connect, const Located<Micros>& query) {
    const auto whole = searchd_.request_timeout.value;
    for (const auto& [name, timeout] :
         {std::pair("agent_connect_timeout", connect), std::pair("agent_query_timeout", query)})
      if (timeout.value > whole)
        notice(timeout.at.line != 0 ? timeout.at : searchd_.request_timeout.at,
               fmt::format("{} ({}) can never be reached: request_timeout ends the whole "
                           "request after {}",
                           name, time_text(timeout.value), time_text(whole)));
  }

  /// What only some attempts or a part of an attempt may take.
  template <class Owner>
  void check_search_times(const Owner& owner) {
    const auto whole = searchd_.request_timeout.value;
    if (const auto& first = owner.agent_first_byte_timeout; first && first->value > whole)
      notice(first->at, fmt::format("agent_first_byte_timeout ({}) can never be reached: "
                                    "request_timeout ends the whole request after {}",
                                    time_text(first->value), time_text(whole)));
    if (!owner.search_timeouts) return;
    for (const auto time : owner.search_timeouts->value)
      if (time > whole)
        notice(owner.search_timeouts->at,
               fmt::format("search_timeouts ({}) can never be reached: request_timeout ends the "
                           "whole request after {}",
                           time_text(time), time_text(whole)));
  }

  void check_table(const TableSettings& table) {
    check_bounds(table_keys(), table);
    check_ping_path(table.ping_path);
    check_preference(table, fmt::format("table {}", in_quotes(table.name)));
    if (table.shards.empty())
      problem(table.at, fmt::format("table {} has no agent that answers", in_quotes(table.name)));
    for (const auto* lines : {&table.shards, &table.blackholes})
      for (const auto& shard : *lines) check_shard(shard);
    for (const auto& shard : table.shards)
      if (auto cut = cut_off(searchd_, table, shard)) notices_.push_back(*std::move(cut));
    const auto has_mirrors = [](const ShardSettings& shard) { return shard.mirrors.size() > 1; };
    if (table.ha_strategy && !table.shards.empty() &&
        std::none_of(table.shards.begin(), table.shards.end(), has_mirrors))
      notice(table.ha_strategy->at,
             fmt::format("ha_strategy has nothing to choose from: no shard of table {} has mirrors",
                         in_quotes(table.name)));
    if (table.agent_retry_count)
      check_retries(table.agent_retry_count->value, table.agent_retry_count->at);
    if (table.agent_connect_timeout || table.agent_query_timeout)
      check_timeouts(table.agent_connect_timeout.value_or(searchd_.agent_connect_timeout),
                     table.agent_query_timeout.value_or(searchd_.agent_query_timeout));
    check_search_times(table);
    check_burst("request", table.request_rate, table.request_burst);
  }

  void check_shard(const ShardSettings& shard) {
    check_ping_path(shard.ping_path);
    if (shard.mirrors.size() > kMostMirrors)
      problem(shard.mirrors[kMostMirrors].at,
              fmt::format("a line has at most {} mirrors, this one has {}", kMostMirrors,
                          shard.mirrors.size()));
    for (const auto& mirror : shard.mirrors) check_not_ourselves(mirror);
    std::set<std::pair<Address, std::vector<std::string>>> seen;
    for (const auto& mirror : shard.mirrors)
      if (!seen.emplace(mirror.address, mirror.tables).second)
        notice(mirror.at, fmt::format("{} is a mirror of this line already", text(mirror.address)));
    if (shard.ha_strategy && shard.mirrors.size() == 1)
      notice(shard.ha_strategy->at,
             "ha_strategy has nothing to choose from: the line has one agent");
    if (shard.retry_count) check_retries(*shard.retry_count, shard.at);
    const auto& limit = searchd_.persistent_connections_limit;
    if (shard.persistent && limit && limit->value == 0)
      notice(shard.at, "no connection is kept: persistent_connections_limit is 0");
  }

  const Settings& settings_;
  const InstanceSettings& searchd_;
  Problems& problems_;
  Problems& notices_;
};

}  // namespace

bool is_path(std::string_view text) {
  return is_target(text) && text.find('?') == std::string_view::npos;
}

void check(const Settings& settings, Problems& problems, Problems& notices) {
  Checker(settings, problems, notices).run();
}

}  // namespace karmad
