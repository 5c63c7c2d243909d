#include "balancer/core/query.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "agent/json/json_line.hpp"

namespace karmad {
namespace {

constexpr std::size_t kQuicklyRead = 64 << 10;  // bytes of a body; parsing more takes time

}  // namespace

Query::Query(Worker& on, const Topology& with, const RequestLine& line, const Head& fields,
             std::string_view body, std::string_view from)
    : worker(on),
      record(on.next_query(),
             request_id(fields.find(kRequestId), with.settings.request_id.value, on.loop.random),
             trace_context(fields), Loop::now(), fields.size + body.size()),
      client{.address = from, .peer = from},
      request{{.method = line.method,
               .path = line.path,
               .query = line.query,
               .content_type = fields.find("Content-Type"),
               .body = body},
              line,
              fields},
      resources{.deadline =
                    record.began + time_allowed(fields, with.settings.request_timeout.value)},
      topology(&with),
      waited(body.size() > kQuicklyRead) {}

Answer json_answer(int status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

Answer refusal(int status, std::string_view reason) {
  Answer answer;
  answer.status = status;
  JsonLine(answer.body).add(R"({"error":)", Quoted{reason}, '}');
  return answer;
}

Answer refusal_in(const DialectKind& kind, const Dialect& dialect, int status,
                  std::string_view reason) {
  Answer answer;
  answer.status = status;
  answer.content_type = kind.content_type;
  dialect.refuse(status, reason, answer.body);
  return answer;
}

Answer refusal_at(const Topology& topology, std::string_view path, int status,
                  std::string_view reason) {
  if (const auto* const served = topology.endpoint_at(path))
    return refusal_in(served->kind, *served->dialect, status, reason);
  if (const auto* const table = topology.route(path))
    return refusal_in(table->dialect, *table->routed, status, reason);
  return refusal(status, reason);
}

Answer bad_request(Query& query, int status, std::string_view reason) {
  count_refused(query.worker, status, reason);
  return refusal_at(*query.topology, query.request.path, status, reason);
}

void count_refused(Worker& worker, int status, std::string_view reason) {
  if (status != 500) return worker.counters.add(Count::bad_requests);
  worker.counters.add(Count::internal_errors);
  if (const auto left_out = worker.error_lines.may_write(Loop::now()))
    spdlog::error("{}{}", reason,
                  *left_out == 0 ? "" : fmt::format(" ({} more not logged)", *left_out));
}

}  // namespace karmad
