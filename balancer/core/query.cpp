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

Query::Query(Worker& on, const Topology& with, const RequestHead& request_head,
             std::string_view request_body, std::string_view from)
    : worker(on),
      record{.id = on.next_query(),
             .request_id = request_id(request_head.find(kRequestId), with.settings.request_id.value,
                                      on.loop.random),
             .trace_context = trace_context(request_head),
             .began = Loop::now(),
             .bytes_in = request_head.size + request_body.size()},
      client{.address = from},
      request{{.method = request_head.method,
               .path = request_head.path,
               .query = request_head.query,
               .content_type = request_head.find("Content-Type"),
               .body = request_body},
              {},
              request_head},
      resources{.deadline =
                    record.began + time_allowed(request_head, with.settings.request_timeout.value)},
      topology(&with),
      waited(request_body.size() > kQuicklyRead) {}

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
