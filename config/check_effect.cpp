#include "config/check_effect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "config/settings/inherit.hpp"

namespace karmad {

namespace {

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
  void warn(std::string_view key, const Place& at, std::string_view why) {
    if (at.line != 0)
      notices_.push_back(
          {at, fmt::format("{} has no effect: {}", key, why), Problem::Severity::warning});
  }
  template <class Setting>
  void warn(std::string_view key, const Setting& setting, std::string_view why) {
    warn(key, place_of(setting), why);
  }
  template <class Is>
  bool any_table(Is is) const {
    return std::ranges::any_of(settings_.tables, is);
  }

  /// Limits with admission = off.
  void check_admission() {
    if (s_.admission.value != AdmissionMode::off) return;
    const auto why = fmt::format("admission = off ({})", text(s_.admission.at));
    warn("ingress_tickets", s_.ingress_tickets, why);
    warn("search_tickets", s_.search_tickets, why);
    warn("update_tickets", s_.update_tickets, why);
    warn("ingress_connection_rate", s_.ingress_connection_rate, why);
    warn("ingress_request_rate", s_.ingress_request_rate, why);
    warn("client_request_rate", s_.client_request_rate, why);
    warn("max_in_flight", s_.max_in_flight, why);
    for (const auto& table : settings_.tables) {
      warn("request_rate", table.request_rate, why);
      warn("max_in_flight", table.max_in_flight, why);
      for (const auto& shard : table.shards)
        for (const auto& mirror : shard.mirrors) warn("max_in_flight", mirror.max_in_flight, why);
    }
  }

  void check_rates() {
    if (!s_.ingress_connection_rate.value.limits()) {
      constexpr auto kWhy = "ingress_connection_rate is unlimited";
      warn("ingress_connection_burst", s_.ingress_connection_burst, kWhy);
      warn("ingress_connection_queue", s_.ingress_connection_queue, kWhy);
      warn("ingress_connection_bypass", s_.ingress_connection_bypass, kWhy);
    }
    const bool requests = s_.ingress_request_rate.value.limits();
    const bool clients = s_.client_request_rate.value.limits();
    if (!requests)
      warn("ingress_request_burst", s_.ingress_request_burst, "ingress_request_rate is unlimited");
    if (!clients) {
      constexpr auto kWhy = "client_request_rate is unlimited";
      warn("client_request_burst", s_.client_request_burst, kWhy);
      warn("client_request_remembered", s_.client_request_remembered, kWhy);
    }
    if (!requests && !clients) {
      constexpr auto kWhy = "ingress_request_rate and client_request_rate are unlimited";
      warn("ingress_request_exempt", s_.ingress_request_exempt, kWhy);
      warn("ingress_request_exempt_apps", s_.ingress_request_exempt_apps, kWhy);
    }
  }

  void check_tickets() {
    if (s_.ticket_queue_discipline.value == QueueOrder::fifo) {
      constexpr auto kWhy = "ticket_queue_discipline = fifo";
      warn("ticket_queue_target", s_.ticket_queue_target, kWhy);
      warn("ticket_queue_interval", s_.ticket_queue_interval, kWhy);
    }
    if (!s_.low_priority.value)
      warn("low_priority_tickets", s_.low_priority_tickets, "low_priority = 0");
  }

  void check_probing() {
    const auto is_probed = [](const Located<TicketCount>& tickets) {
      return tickets.value.kind == TicketCount::Kind::automatic;
    };
    if (!is_probed(s_.search_tickets) && !is_probed(s_.update_tickets)) {
      constexpr auto kWhy = "neither search_tickets nor update_tickets is auto";
      warn("throughput_probing_initial_concurrency", s_.throughput_probing_initial_concurrency,
           kWhy);
      warn("throughput_probing_min_concurrency", s_.throughput_probing_min_concurrency, kWhy);
      warn("throughput_probing_max_concurrency", s_.throughput_probing_max_concurrency, kWhy);
      warn("throughput_probing_evidence", s_.throughput_probing_evidence, kWhy);
      warn("throughput_probing_concurrency_adjustment_interval",
           s_.throughput_probing_concurrency_adjustment_interval, kWhy);
    }
    if (!is_probed(s_.search_tickets) || !is_probed(s_.update_tickets))
      warn("throughput_probing_read_write_ratio", s_.throughput_probing_read_write_ratio,
           "search_tickets and update_tickets are not both auto");
    if (s_.throughput_probing_evidence.value != 0) {
      constexpr auto kWhy = "throughput_probing_evidence is not 0";
      warn("throughput_probing_concurrency_moving_average_weight",
           s_.throughput_probing_concurrency_moving_average_weight, kWhy);
      warn("throughput_probing_step_multiple", s_.throughput_probing_step_multiple, kWhy);
    } else {
      constexpr auto kWhy = "throughput_probing_evidence = 0";
      warn("throughput_probing_evidence_step", s_.throughput_probing_evidence_step, kWhy);
      warn("throughput_probing_evidence_gain", s_.throughput_probing_evidence_gain, kWhy);
    }
  }

  /// Settings of what no table uses.
  void check_mirrors() {
    if (settings_.tables.empty()) return;
    if (!any_table([](const auto& table) { return table.breaker.value; })) {
      constexpr auto kWhy = "no table has breaker = 1";
      warn("breaker_reads", s_.breaker_reads, kWhy);
      warn("breaker_writes", s_.breaker_writes, kWhy);
      warn("breaker_window", s_.breaker_window, kWhy);
    }
    if (!any_table([](const auto& table) { return table.outlier.value != Outlier::off; })) {
      constexpr auto kWhy = "no table has an outlier other than off";
      warn("outlier_failures", s_.outlier_failures, kWhy);
      warn("outlier_failure_percent", s_.outlier_failure_percent, kWhy);
      warn("outlier_latency_factor", s_.outlier_latency_factor, kWhy);
      warn("outlier_time", s_.outlier_time, kWhy);
      warn("outlier_longest_time", s_.outlier_longest_time, kWhy);
      warn("outlier_most_percent", s_.outlier_most_percent, kWhy);
      warn("outlier_panic_percent", s_.outlier_panic_percent, kWhy);
    }
    if (s_.hedge_disabled.value) {
      constexpr auto kWhy = "hedge_disabled = 1";
      warn("hedge", s_.hedge, kWhy);
      warn("hedge_step", s_.hedge_step, kWhy);
      warn("hedge_max", s_.hedge_max, kWhy);
      warn("hedge_max_load_percent", s_.hedge_max_load_percent, kWhy);
    }
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
    if (!any_mirror([](const auto& mirror) { return mirror.max_in_flight.value == "auto"; })) {
      constexpr auto kWhy = "no mirror has max_in_flight = auto";
      warn("max_in_flight_min", s_.max_in_flight_min, kWhy);
      warn("max_in_flight_max", s_.max_in_flight_max, kWhy);
      warn("max_in_flight_initial", s_.max_in_flight_initial, kWhy);
      warn("max_in_flight_slack", s_.max_in_flight_slack, kWhy);
      warn("max_in_flight_smoothing", s_.max_in_flight_smoothing, kWhy);
    }
    if (!any_mirror([](const auto& mirror) {
          return mirror.max_in_flight.value != "unlimited" && mirror.max_in_flight.value != "0";
        }))
      warn("max_in_flight_queue", s_.max_in_flight_queue, "max_in_flight is unlimited everywhere");
  }

  void check_rest() {
    if (std::ranges::none_of(s_.listen, [](const auto& each) { return each.address.is_unix(); })) {
      constexpr auto kWhy = "no listen is a unix socket";
      warn("listen_socket_mode", s_.listen_socket_mode, kWhy);
      warn("listen_socket_owner", s_.listen_socket_owner, kWhy);
    }
    if (!s_.access_log) {
      constexpr auto kWhy = "there is no access_log";
      warn("access_log_format", s_.access_log_format, kWhy);
      warn("access_log_sample", s_.access_log_sample, kWhy);
      warn("access_log_slow", s_.access_log_slow, kWhy);
    } else if (s_.access_log_sample.value == 1) {
      warn("access_log_slow", s_.access_log_slow, "with access_log_sample = 1 all are logged");
    }
    if (s_.ha_ping_interval.value == Micros{0}) {
      constexpr auto kWhy = "ha_ping_interval = 0: there are no pings";
      warn("ping_timeout", s_.ping_timeout, kWhy);
      warn("interrupt_unreachable", s_.interrupt_unreachable, kWhy);
    }
  }

  void check_table(const TableSettings& table) {
    const auto above = empty_table(s_);
    const auto own = [&](std::string_view key, auto member, std::string_view why) {
      if (is_own(table.*member, above.*member)) warn(key, table.*member, why);
    };
    const auto has_one = [](const ShardSettings& shard) { return shard.mirrors.size() <= 1; };
    if (!table.shards.empty() && std::ranges::all_of(table.shards, has_one)) {
      constexpr auto kWhy = "each shard of the table has one agent";
      own("hedge", &TableSettings::hedge, kWhy);
      own("hedge_step", &TableSettings::hedge_step, kWhy);
      own("hedge_max", &TableSettings::hedge_max, kWhy);
      own("breaker", &TableSettings::breaker, kWhy);
      own("outlier", &TableSettings::outlier, kWhy);
    } else if (s_.hedge_disabled.value) {
      own("hedge", &TableSettings::hedge, "hedge_disabled = 1");
      own("hedge_step", &TableSettings::hedge_step, "hedge_disabled = 1");
      own("hedge_max", &TableSettings::hedge_max, "hedge_disabled = 1");
    }
    if (table.shards.size() == 1)
      own("partial_results", &TableSettings::partial_results, "the table has one shard");
    if (!table.request_rate.value.limits())
      warn("request_burst", table.request_burst, "request_rate is unlimited");
    if (table.ping_type.value == "none")
      own("ping_path", &TableSettings::ping_path, "ping_type = none");
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

void check_effect(const Settings& settings, Problems& notices) {
  EffectChecker(settings, notices).run();
}

}  // namespace karmad
