#include "balancer/search/scatter_gather.hpp"

#include <boost/container/static_vector.hpp>
#include <optional>

#include "agent/mirrors/attempt.hpp"
#include "agent/transport/http/http_write.hpp"
#include "balancer/admission/client_auth.hpp"

namespace karmad {
namespace {

/// A copy with its own data: the query may end before the copy is sent.
struct Copy {
  std::string method;
  std::string target;
  std::string content_type;
  std::string body;
  std::string fields;      ///< as a head
  std::string host;        ///< empty: the agent's address
  AttemptRequest request;  ///< the rest, without data

  std::size_t size() const { return target.size() + body.size() + fields.size(); }
};

/// The fields of a copy, as a head: those of the client that are passed on, and those that karmad
/// adds.
std::string fields_of(const Query& query, const Table& table,
                      const std::optional<std::string_view>& authorization) {
  boost::container::static_vector<Field, 8> fields;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) fields.push_back(Field{name, value});
  };
  std::optional<ForwardedFields> forwarded;
  if (table.forwards_headers) {
    forwarded.emplace(query.request.fields, forwarded_by(query.client));
    add(kForwardedFor, forwarded->addresses);
    add(kForwardedProto, forwarded->proto);
    add(kForwardedHost, forwarded->host);
    add(kForwarded, forwarded->forwarded);
  }
  Traceparent parent;
  add(kRequestId, query.record.request_id.text());
  if (const auto& context = query.record.trace_context; !context.empty()) {
    parent = traceparent(context, random_id(query.worker.loop.random));
    add(kTraceparent, {parent.data(), parent.size()});
    add(kTracestate, context.state);
  }
  add(kAuthorization, authorization.value_or(""));
  std::string head;
  write_request_head(
      head,
      {.method = "GET",
       .host = "copy",
       .extra = fields,
       .passed_on = table.dialect.capabilities.passes_fields ? &query.request.fields : nullptr,
       .withheld = authorization == "" ? kAuthorization : std::string_view()});
  return head;
}

Task<void> send(Worker& worker, std::shared_ptr<Agent> agent, Copy copy) {
  Stop stop(worker.loop);
  worker.copies.push_back(&stop);
  worker.copies_size += copy.size();
  RequestHead passed_on;
  const auto parsed = parse_request_head(copy.fields, {copy.fields.size(), kMaxFields}, passed_on);
  auto& request = copy.request;
  request.began = Loop::now();
  request.method = copy.method;
  request.target = copy.target;
  request.host = copy.host;
  request.content_type = copy.content_type;
  request.body = copy.body;
  if (parsed) request.passed_on = &passed_on;
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
                .fields = fields_of(query, table, authorization),
                .host = table.keeps_host ? std::string(query.request.fields.find("Host")) : "",
                .request = {.hops = query.request.hops + 1,
                            .repeatable = parsed.read,
                            .connect_timeout = table.timeouts.connect,
                            .query_timeout = table.timeouts.query,
                            .limits = {.most = query.topology->settings.max_packet_size.value}}}));
  }
}

}  // namespace karmad
