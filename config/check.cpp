#include "config/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/check_effect.hpp"
#include "config/check_steps.hpp"
#include "config/check_tables.hpp"
#include "config/own_address.hpp"
#include "config/settings/address.hpp"
#include "config/settings/socket_access.hpp"

namespace karmad {

namespace {

constexpr Micros kSensibleRetryDelay = 1s;  // the highest value that the search server recommends

class InstanceChecker : CheckSteps {
 public:
  using CheckSteps::CheckSteps;

  void run() {
    check_bounds(searchd_keys(), searchd_);
    check_listen();
    check_admin();
    check_instance();
  }

 private:
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
    SocketAccess access;
    if (const auto& owner = searchd_.listen_socket_owner)
      if (const auto read = read_owner(owner->value, access); !read)
        problem(owner->at, fmt::format("listen_socket_owner: {}", read.error().why));
  }

  static bool is_local(const Address& address) {
    return address.is_unix() || address.host == "localhost" || address.host == "::1" ||
           address.host.starts_with("127.");
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

  void check_instance() {
    const auto& s = searchd_;
    check_ping_path(s.ping_path);
    check_preference(s, {}, "searchd");
    if (s.agent_retry_delay.value > kSensibleRetryDelay)
      notice(s.agent_retry_delay.at, fmt::format("agent_retry_delay is longer than one second: {}",
                                                 time_text(s.agent_retry_delay.value)));
    if (s.agent_retry_count) check_retries(s.agent_retry_count->value, s.agent_retry_count->at);
    check_timeouts(s);
    check_search_times(s);
    check_burst("ingress_connection", s.ingress_connection_rate, s.ingress_connection_burst);
    check_burst("ingress_request", s.ingress_request_rate, s.ingress_request_burst);
    check_burst("client_request", s.client_request_rate, s.client_request_burst);
    check_tickets();
    check_probing();
    check_part("access_log_sample", s.access_log_sample, 0, 1);
    check_takeover_socket(s);
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

  /// A relative path would depend on the folder in which a process was started.
  void check_takeover_socket(const InstanceSettings& s) {
    if (!s.takeover_socket) return;
    const auto& [path, at] = *s.takeover_socket;
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
    const auto is_probed = [](const Located<TicketCount>& tickets) {
      return tickets.value.kind == TicketCount::Kind::automatic ? 1u : 0u;
    };
    const auto probed = is_probed(s.search_tickets) + is_probed(s.update_tickets);
    const auto pools = std::uint64_t{probed == 0 ? 2 : probed};
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
    if (s.outlier_time.value > s.outlier_longest_time.value)
      problem(s.outlier_time.at, fmt::format("outlier_time ({}) is longer than "
                                             "outlier_longest_time ({})",
                                             time_text(s.outlier_time.value),
                                             time_text(s.outlier_longest_time.value)));
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
};

}  // namespace

bool is_path(std::string_view text) {
  return is_target(text) && text.find('?') == std::string_view::npos;
}

void check(const Settings& settings, const ThisHost& host, Problems& problems, Problems& notices) {
  InstanceChecker(settings.searchd, problems, notices).run();
  check_tables(settings, host, problems, notices);
  check_effect(settings, notices);
}

}  // namespace karmad
