#include "balancer/search/scatter_gather.hpp"

#include <boost/container/static_vector.hpp>

#include "agent/mirrors/attempt.hpp"
#include "agent/transport/http/http_write.hpp"
#include "balancer/admission/client_auth.hpp"

namespace karmad {
namespace {

/// The fields X-Forwarded-… of a copy.
using ForwardedCopies = std::vector<std::pair<std::string_view, std::string>>;

/// A copy with its own data: the query may end before the copy is sent.
struct Copy {
  std::string method;
  std::string target;
  std::string content_type;
  std::string body;
  std::string fields;  ///< those to pass on, as the text of a head; empty: none
  std::string host;    ///< empty: the agent's address
  ForwardedCopies forwarded;
  RequestId request_id;
  std::string traceparent;  ///< empty: no trace
  std::string tracestate;
  std::string authorization;  ///< empty: none
  AttemptRequest request;     ///< the rest, without data

  std::size_t size() const { return target.size() + body.size() + fields.size(); }
};

/// The end-to-end fields of a client's head, as a new request head.
std::string fields_of(const Head& head) {
  std::string text = "GET / HTTP/1.1\r\nHost: copy\r\n";
  copy_end_to_end(head, text);
  return text + "\r\n";
}

ForwardedCopies forwarded_of(const Query& query) {
  const ForwardedFields told(query.request.fields, forwarded_by(query.client));
  ForwardedCopies fields{{kForwardedFor, std::string(told.addresses)},
                         {kForwardedProto, std::string(told.proto)}};
  if (!told.host.empty()) fields.emplace_back(kForwardedHost, told.host);
  if (!told.forwarded.empty()) fields.emplace_back(kForwarded, told.forwarded);
  return fields;
}

/// The value of `traceparent` for one copy; empty: no trace.
std::string traceparent_of(const Query& query) {
  if (query.record.trace_context.empty()) return {};
  const auto value = traceparent(query.record.trace_context, random_id(query.worker.loop.random));
  return {value.begin(), value.end()};
}

Task<void> send(Worker& worker, std::shared_ptr<Agent> agent, Copy copy) {
  Stop stop(worker.loop);
  worker.copies.push_back(&stop);
  worker.copies_size += copy.size();
  RequestHead passed_on;
  const bool with_fields =
      !copy.fields.empty() &&
      parse_request_head(copy.fields, {copy.fields.size(), kMaxFields}, passed_on).has_value();
  boost::container::static_vector<Field, 8> fields;
  for (const auto& [name, value] : copy.forwarded) fields.push_back({name, value});
  for (const Field field :
       {Field{kRequestId, copy.request_id.text()}, Field{kTraceparent, copy.traceparent},
        Field{kTracestate, copy.tracestate}, Field{kAuthorization, copy.authorization}})
    if (!field.value.empty()) fields.push_back(field);
  auto& request = copy.request;
  request.began = Loop::now();
  request.method = copy.method;
  request.target = copy.target;
  request.host = copy.host;
  request.content_type = copy.content_type;
  request.body = copy.body;
  request.extra = {fields.data(), fields.size()};
  if (with_fields) request.passed_on = &passed_on;
  request.deadline = request.began + request.connect_timeout + request.query_timeout;
  AttemptResult result;
  co_await attempt(worker.loop, worker.blackhole_pool(agent), request, stop, result);
  worker.loop.buffers.give(std::move(result.reply.bytes));
  worker.copies_size -= copy.size();
  std::erase(worker.copies, &stop);
}

}  // namespace

void send_to_blackholes(Query& query, const Table& table, const Dialect& dialect,
                        const Parsed& parsed) {
  auto& worker = query.worker;
  const bool with_fields = table.dialect.capabilities.passes_fields;
  for (const auto& blackhole : table.blackholes) {
    if (worker.copies.size() >= kBlackholes || worker.copies_size >= kBlackholeBytes) {
      worker.counters.add(Count::blackhole_dropped);
      continue;
    }
    worker.counters.add(Count::blackhole_sent);
    Buffer buffer(worker.loop.buffers);
    const auto authorization = authorization_for(blackhole.credentials, query);
    const auto request = dialect.write(query.request, parsed, blackhole.tables, *buffer);
    spawn(send(worker, blackhole.agent,
               {.method = std::string(request.method),
                .target = std::string(request.target),
                .content_type = std::string(request.content_type),
                .body = std::string(request.body),
                .fields = with_fields ? fields_of(query.request.fields) : std::string(),
                .host = table.keeps_host ? std::string(query.request.fields.find("Host")) : "",
                .forwarded = table.forwards_headers ? forwarded_of(query) : ForwardedCopies(),
                .request_id = query.record.request_id,
                .traceparent = traceparent_of(query),
                .tracestate = query.record.trace_context.state,
                .authorization = std::string(authorization.value_or("")),
                .request = {.withheld = authorization == "" ? kAuthorization : std::string_view(),
                            .hops = query.request.hops + 1,
                            .repeatable = parsed.read,
                            .connect_timeout = table.timeouts.connect,
                            .query_timeout = table.timeouts.query,
                            .limits = {.most = query.topology->settings.max_packet_size.value}}}));
  }
}

}  // namespace karmad
