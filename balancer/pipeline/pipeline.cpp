#include "balancer/pipeline/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/transport/http/field_values.hpp"
#include "balancer/admission/client_auth.hpp"
#include "balancer/admission/request_gate.hpp"
#include "balancer/core/request_fields.hpp"
#include "balancer/endpoints/endpoints.hpp"
#include "balancer/pipeline/admit.hpp"
#include "balancer/search/scatter_gather.hpp"

namespace karmad {
namespace {

using OptionalRefusal = std::optional<EarlyRefusal>;

/// Whether reading the body of a refused request costs less than a new connection.
bool is_dropped_easily(const ArrivedHead& request) {
  constexpr std::size_t kEasy = 64 << 10;
  const auto& head = request.head;
  if (request.body_arrived || head.framing == Framing::none) return true;
  const auto most = std::min(kEasy, request.topology.settings.max_packet_size.value);
  return head.framing == Framing::length && head.content_length <= most && !head.expect_continue;
}

/// AC-050 … AC-056. Requests about karmad itself are exempt.
OptionalRefusal refuse_over_rate(const ArrivedHead& request) {
  auto& worker = request.worker;
  const auto& topology = request.topology;
  if (!topology.limits_requests) return std::nullopt;
  const auto path = request.head.path;
  const bool about_karmad = is_about_karmad(path);
  const bool ends = !is_dropped_easily(request);
  if (!about_karmad && names_two_clients(topology, request.head)) {
    worker.counters.add(Count::bad_requests);
    return EarlyRefusal{refusal_at(topology, path, 400,
                                   fmt::format("more than one field {} (client_request_header)",
                                               topology.settings.client_request_header->value)),
                        ends};
  }
  const auto over = over_rate(worker, topology, request.head, about_karmad, request.client);
  if (!over) return std::nullopt;
  return EarlyRefusal{too_many_requests(worker, *over), ends};
}

OptionalRefusal refuse_for_size(const ArrivedHead& request) {
  const auto& head = request.head;
  const auto most = request.topology.settings.max_packet_size.value;
  if (head.framing != Framing::length || head.content_length <= most) return std::nullopt;
  request.worker.counters.add(Count::bad_requests);
  return EarlyRefusal{refusal_at(request.topology, head.path, 413,
                                 fmt::format("the request's body of {} bytes is larger than "
                                             "max_packet_size ({})",
                                             head.content_length, most)),
                      true};
}

/// Requests about karmad itself are never refused.
OptionalRefusal refuse_for_memory(const ArrivedHead& request) {
  auto& memory = request.memory;
  const auto& head = request.head;
  if (request.body_arrived || head.framing != Framing::length || is_about_karmad(head.path) ||
      streams_body(request) || memory.admits(head.content_length))
    return std::nullopt;
  const auto why = memory.denial();
  memory.forgive();
  return EarlyRefusal{memory_refusal(request.worker.limits.memory, why, /*repeatable=*/true), true};
}

/// Tunnels take no tickets, and last for hours.
OptionalRefusal refuse_over_tunnels(const ArrivedHead& request) {
  auto& worker = request.worker;
  const auto most = request.topology.settings.max_tunnels.value;
  if (worker.connections.tunnels.load(std::memory_order_relaxed) < most) return std::nullopt;
  const auto& head = request.head;
  const auto* const table = table_passed_to(request.topology, head.path);
  if (table == nullptr || !table->passes_upgrades || offered_upgrade(head).empty())
    return std::nullopt;
  worker.counters.add(Count::tunnels_refused);
  return EarlyRefusal{
      refusal(503, fmt::format("max_tunnels ({}) connections have changed their protocol", most)),
      !is_dropped_easily(request)};
}

/// A request whose body is incomplete is not refused: a ticket may be free when it is complete.
OptionalRefusal refuse_without_ticket(const ArrivedHead& request) {
  if (!request.body_arrived) return std::nullopt;
  auto refused = early_ticket_refusal(request.worker, request.head);
  if (!refused) return std::nullopt;
  return EarlyRefusal{*std::move(refused), false};
}

}  // namespace

std::optional<EarlyRefusal> refuse_on_head(const ArrivedHead& request) {
  if (request.on_admin_port) return refuse_for_size(request);
  if (auto refused = refuse_over_rate(request)) return refused;
  if (auto refused = refuse_for_size(request)) return refused;
  if (auto refused = refuse_for_memory(request)) return refused;
  if (auto refused = refuse_over_tunnels(request)) return refused;
  return refuse_without_ticket(request);
}

Task<std::optional<EarlyRefusal>> refuse_client(const ArrivedHead& request, const ClientAuth& auth,
                                                std::string_view client) {
  const auto path = request.head.path;
  if (path == "/healthz" || path == "/readyz") co_return std::nullopt;
  const AuthRequest checked{request.worker, request.topology, auth,
                            request.head,   request.client,   client};
  auto refused = co_await refuse_client(checked);
  if (!refused) co_return std::nullopt;
  co_return EarlyRefusal{*std::move(refused), !is_dropped_easily(request)};
}

std::optional<EarlyRefusal> refuse_path(const ArrivedHead& request) {
  auto& worker = request.worker;
  if (is_dropped_easily(request) || request.on_admin_port || !worker.process.user_handles.empty())
    return std::nullopt;
  auto refused = refuse_path(worker, request.topology, request.head.path);
  if (!refused) return std::nullopt;
  return EarlyRefusal{*std::move(refused), true};
}

bool streams_body(const ArrivedHead& request) {
  const auto& head = request.head;
  const auto longest = request.topology.settings.request_buffer_size.value;
  if (head.framing == Framing::length && head.content_length <= longest) return false;
  if (request.on_admin_port || !request.worker.process.user_handles.empty()) return false;
  const auto* const table = table_passed_to(request.topology, head.path);
  return table != nullptr && table->takes_streams() && head.find(kConsistency).empty();
}

namespace {

Task<Answer> route(Query& query) {
  return answer(query, scatter_gather);
}

Task<Answer> pass_handles(Query& query) {
  return Next(query.worker.process.user_handles, route)(query);
}

Task<Answer> wait_and_pass(Query& query) {
  auto refused = co_await wait_for_tickets(query);
  if (refused) co_return *std::move(refused);
  co_return co_await pass_handles(query);
}

}  // namespace

// A query that gets its tickets at once costs no coroutine of its own.
Task<Answer> pass_pipeline(Query& query) {
  if (try_admit(query)) return pass_handles(query);
  return wait_and_pass(query);
}

Task<Answer> Next::operator()(Query& query) const {
  if (handles_.empty()) return last_(query);
  query.waited = true;  // the handles may wait
  auto rest = *this;
  rest.handles_ = handles_.subspan(1);
  return handles_.front()(query, rest);
}

}  // namespace karmad
