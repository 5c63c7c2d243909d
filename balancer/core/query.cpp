#include "balancer/core/query.hpp"

#include <algorithm>

#include "agent/json/json_line.hpp"

namespace karmad {
namespace {

constexpr std::size_t kQuicklyRead = 64 << 10;  // bytes of a body; parsing more takes time

void add_error(JsonLine body, std::string_view reason) {
  body.add(R"({"error":)");
  body.add_quoted(reason);
  body.add('}');
}

}  // namespace

Query::Query(Worker& on, const Topology& with, const RequestLine& of, const Head& with_fields,
             std::string_view body, std::string_view from)
    : worker(on),
      topology(&with),
      request{.method = of.method,
              .path = of.path,
              .query = of.query,
              .content_type = with_fields.find("Content-Type"),
              .body = body},
      line(of),
      fields(with_fields),
      client(from),
      began(Loop::now()),
      deadline(began + time_allowed(fields, topology->settings.request_timeout.value)),
      id(on.next_query()),
      request_id(karmad::request_id(fields.find(kRequestId), with.settings.request_id.value,
                                    on.loop.random)),
      trace_context(karmad::trace_context(fields)),
      bytes_in(fields.size + body.size()),
      waited(body.size() > kQuicklyRead) {}

Answer refusal(int status, std::string_view reason) {
  Answer answer;
  answer.status = status;
  add_error(JsonLine(answer.body), reason);
  return answer;
}

Answer bad_request(Query& query, int status, std::string_view reason) {
  query.worker.counters.add(Count::bad_requests);
  return refusal(status, reason);
}

}  // namespace karmad
