#include "balancer/admission/request_gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "balancer/core/query.hpp"
#include "balancer/core/refusal.hpp"
#include "balancer/core/request_fields.hpp"
#include "config/text/enum_names.hpp"

namespace karmad {
namespace {

/// A rate limit: its setting, and the counter of the requests that exceed it.
struct RateSetting {
  OverRate::Limit limit;
  std::string_view setting;
  Count counted;
};
constexpr std::array<RateSetting, 3> kRates{{
    {OverRate::Limit::all, "ingress_request_rate", Count::requests_over_rate},
    {OverRate::Limit::client, "client_request_rate", Count::requests_over_client_rate},
    {OverRate::Limit::table, "request_rate", Count::requests_over_table_rate},
}};
static_assert(lists_all(kRates, &RateSetting::limit));

/// The bodies of the refusals, built once.
const std::string& body_for(OverRate::Limit limit) {
  static const auto bodies = [] {
    std::array<std::string, kRates.size()> all;
    std::ranges::transform(kRates, all.begin(), [](const RateSetting& rate) {
      auto refusal = overload_refusal(fmt::format("Rate limiter '{}' rate exceeded", rate.setting));
      refusal.details = R"("codeName":"IngressRequestRateLimitExceeded")";
      return answer_with(refusal).body;
    });
    return all;
  }();
  return bodies[static_cast<std::size_t>(limit)];
}

/// Whether the request comes from one of these applications (AC-056).
bool names_app(const AppNames& names, const Head& fields) {
  if (names.empty()) return false;
  const auto app = fields.find(kAppName);
  const auto agent = fields.find("User-Agent");
  return std::ranges::any_of(names, [&](const std::string& beginning) {
    return app.starts_with(beginning) || agent.starts_with(beginning);
  });
}

/// Who a request counts for: the value of `client_request_header`, in place of an address, or else
/// the address. Two values that are taken for one only share a rate.
std::optional<IpAddress> client_of(const InstanceSettings& settings, const Head& fields,
                                   const std::optional<IpAddress>& address) {
  if (!settings.client_request_header) return address;
  const auto value = fields.find(settings.client_request_header->value);
  if (value.empty()) return address;
  return IpAddress{hashed(0, value) | 1, 0};  // none of IPv4
}

/// Counts a refusal and returns it; none if admission is not enforced.
std::optional<OverRate> refuse_if_enforced(Worker& worker, const Topology& topology,
                                           OverRate over) {
  if (topology.settings.admission.value != AdmissionMode::enforce) return std::nullopt;
  worker.counters.add(kRates[static_cast<std::size_t>(over.limit)].counted);
  return over;
}

}  // namespace

std::optional<OverRate> over_rate(Worker& worker, const Topology& topology, const Head& fields,
                                  bool about_karmad, const std::optional<IpAddress>& client) {
  auto& rates = worker.limits.rates;
  const auto& settings = topology.settings;
  const bool limits_all = settings.ingress_request_rate.value.limits();
  const auto counted = settings.client_request_rate.value.limits()
                           ? client_of(settings, fields, client)
                           : std::nullopt;
  if ((client && contains(settings.ingress_request_exempt.value, *client)) || about_karmad ||
      names_app(settings.ingress_request_exempt_apps.value, fields)) {
    if (limits_all) rates.requests.exempt();
    if (counted) rates.clients_exempted.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  const auto now = Loop::now();
  if (counted)
    if (const auto until = rates.clients.take(*counted, now))
      if (auto over = refuse_if_enforced(worker, topology, {OverRate::Limit::client, *until}))
        return over;
  if (!limits_all || rates.requests.try_acquire(1, now)) return std::nullopt;
  return refuse_if_enforced(worker, topology,
                            {OverRate::Limit::all, rates.requests.time_until(1, now)});
}

std::optional<OverRate> over_rate(Worker& worker, const Topology& topology, const Table& table) {
  for (const auto* member : table.members)
    if (auto over = over_rate(worker, topology, *member)) return over;
  if (!table.requests || !table.members.empty()) return std::nullopt;
  const auto now = Loop::now();
  if (table.requests->try_acquire(1, now)) return std::nullopt;
  return refuse_if_enforced(worker, topology,
                            {OverRate::Limit::table, table.requests->time_until(1, now)});
}

bool names_two_clients(const Topology& topology, const Head& fields) {
  const auto& settings = topology.settings;
  return settings.client_request_header && settings.client_request_rate.value.limits() &&
         settings.admission.value == AdmissionMode::enforce &&
         fields.repeats(settings.client_request_header->value);
}

Answer too_many_requests(Worker& worker, const OverRate& over) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(over.until).count();
  constexpr std::int64_t kMost = 1'000'000;  // eleven days, and few digits
  return overload_answer(worker, body_for(over.limit),
                         static_cast<unsigned>(std::clamp<std::int64_t>(seconds, 1, kMost)));
}

Answer memory_refusal(const MemoryLimit& limit, MemoryDenial why, bool repeatable) {
  const auto reason =
      why == MemoryDenial::refused
          ? fmt::format("{} bytes of memory are used by other requests (memory_limit = {})",
                        limit.used(), limit.limit())
          : fmt::format(
                "the request was cancelled: it held the most memory when the limit was reached "
                "(memory_limit = {})",
                limit.limit());
  if (why == MemoryDenial::given_up && !repeatable)
    return answer_with({.status = 503,
                        .type = "memory_limit",
                        .reason = reason + "; an update may have taken effect",
                        .retry_after = 1});
  return answer_with(overload_refusal(reason));
}

void count_denial(Counters& counters, MemoryDenial why) {
  counters.add(why == MemoryDenial::given_up ? Count::memory_given_up : Count::memory_refused);
}

}  // namespace karmad
