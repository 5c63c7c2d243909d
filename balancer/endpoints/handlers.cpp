#include "balancer/endpoints/handlers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "agent/ping_kinds/ping_kinds.hpp"
#include "agent/transport/http/http_head.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "balancer/core/ask_workers.hpp"
#include "balancer/core/long_work.hpp"
#include "balancer/core/request_fields.hpp"
#include "balancer/endpoints/packed_body.hpp"
#include "balancer/selection/explanation.hpp"
#include "balancer/status/status_json.hpp"
#include "balancer/topology/topology.hpp"
#include "balancer/watch/event_log.hpp"
#include "config/text/number_in.hpp"
#include "dashboard_hashes.hpp"

// The page, in the assembler file that embed.cmake makes: Chart.js lies between its two pieces, so
// that the plain page is one range of bytes.
extern "C" {
extern const char karmad_dashboard_plain;
extern const char karmad_dashboard_rest_end;
extern const char karmad_dashboard_packed;
extern const char karmad_dashboard_packed_end;
}

namespace karmad {
namespace {

/// The page of the dashboard needs no other file. It may run its own scripts and ask its own
/// origin, and nothing else.
constexpr std::array kDashboardFields{
    Field{"Content-Security-Policy",
          "default-src 'none'; connect-src 'self'; img-src data:; style-src " KARMAD_DASHBOARD_STYLE
          "; script-src " KARMAD_DASHBOARD_SCRIPTS
          "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    Field{"X-Content-Type-Options", "nosniff"},
    Field{"Referrer-Policy", "no-referrer"},
    Field{"Cache-Control", "no-cache"},
    Field{"Vary", "Accept-Encoding"},
    Field{"Content-Encoding", "gzip"},  // last
};

/// The table in the parameters; none if there is no such parameter. Others are ignored.
std::optional<std::string> table_parameter(std::string_view parameters) {
  while (auto parameter = take_parameter(parameters))
    if (parameter->name == "table") return std::move(parameter->value);
  return std::nullopt;
}

/// The table with one shard of one mirror, for which karmad is a side-car; null without one.
const Table* only_one(const Topology& topology, std::string_view parameters) {
  const Table* table = nullptr;
  if (const auto name = table_parameter(parameters)) {
    table = topology.find(*name);
  } else if (topology.tables.size() == 1) {
    table = topology.tables.front().get();
  }
  const bool alone =
      table != nullptr && table->shards.size() == 1 && table->shards.front()->mirrors->size() == 1;
  return alone ? table : nullptr;
}

/// Answers `GET /hello` with a native description of karmad, so that karmad can be a mirror of
/// another karmad. With one table, one shard and one mirror (or `?table=NAME` for such a table)
/// karmad is a side-car and repeats the mirror's description; else its role is router.
Answer describe_balancer(Query& query) {
  const auto name = table_parameter(query.request.query);
  if (name && query.topology->find(*name) == nullptr)
    return refusal(404, query.topology->unknown(*name));
  Description description;
  if (const auto* table = only_one(*query.topology, query.request.query)) {
    const auto& shard = *table->shards.front();
    const auto& view = *shard.mirrors->view(query.worker.loop.index);
    if (shard.pings.kind != nullptr) {
      const auto& mirror = view.mirrors.front();
      description = mirror.description;
      description.role = view.picture.mirrors.front().role;
      description.tags = view.picture.mirrors.front().tags;
      description.why = mirror.why;
      // This is the address of the mirror; the other karmad must use the address of this one.
      description.me.reset();
      if (description.role == Role::unknown)
        return refusal(503, fmt::format("the only mirror is not reachable: {}", mirror.why));
    }
  }
  if (query.worker.monitoring.draining.load(std::memory_order_relaxed)) {
    description.role = Role::other;
    description.why = "draining";
  }
  return json_answer(200, text(description));
}

/// The newest id that the client has seen: from the URL, or from the field that a client sends when
/// it reconnects.
std::expected<std::uint64_t, std::string> last_seen(const Query& query) {
  auto parameters = query.request.query;
  auto seen = number_in<std::uint64_t>(query.request.fields.find("Last-Event-ID")).value_or(0);
  while (const auto parameter = take_parameter(parameters)) {
    const auto id = number_in<std::uint64_t>(parameter->value);
    if (!id)
      return std::unexpected(
          fmt::format("'{}={}' is not allowed: `since` is the id of an event, a whole number",
                      parameter->name, parameter->value));
    seen = *id;
  }
  return seen;
}

std::string all_events(const EventLog& log, std::uint64_t after) {
  std::string body = fmt::format(R"({{"newest":{},"events":[)", log.newest());
  bool follows = false;
  for (const auto& event : log.since(after)) {
    if (std::exchange(follows, true)) body += ",\n";
    body += event.json;
  }
  return body += "]}";
}

/// The last events (`since=ID`: those after that id) as a JSON document; as server-sent events if
/// the client accepts text/event-stream. 400 for another parameter, 503 if `max_event_streams`
/// streams are open already.
Answer events_answer(Query& query) {
  auto& monitoring = query.worker.monitoring;
  const auto after = last_seen(query);
  if (!after) return bad_request(query, 400, after.error());
  if (monitoring.events == nullptr) return refusal(404, "this process keeps no events");
  // The id is older than the last restart: all events are new to the client.
  const auto seen = *after > monitoring.events->newest() ? 0 : *after;
  if (!query.request.fields.find("Accept").contains("text/event-stream"))
    return json_answer(200, all_events(*monitoring.events, seen));
  const auto most = query.topology->settings.max_event_streams.value;
  if (monitoring.event_streams.load(std::memory_order_relaxed) >= most)
    return refusal(
        503, fmt::format("as many clients read the event stream as max_event_streams = {} allows",
                         most));
  Answer answer;
  answer.content_type = "text/event-stream";
  answer.source = std::make_unique<EventStream>(query.worker, *monitoring.events, seen);
  return answer;
}

/// The parameters of `/explain`.
struct ExplainParameters {
  std::string table;
  Operation operation = Operation::read;
};

std::expected<ExplainParameters, std::string> explain_parameters(std::string_view text) {
  ExplainParameters parameters;
  while (const auto parameter = take_parameter(text)) {
    const auto& [name, value] = *parameter;
    if (name == "table") {
      parameters.table = value;
    } else if (name == "operation" && (value == "read" || value == "write")) {
      parameters.operation = value == "read" ? Operation::read : Operation::write;
    } else if (name == "operation") {
      return std::unexpected(fmt::format("operation is read or write, not '{}'", value));
    }
  }
  return parameters;
}

/// A search through the records of all workers, one after the other.
struct RecordSearch {
  std::string id;
  std::string found;

  bool operator()(Worker& worker) {
    for (const auto* ring : {&worker.explained_on_request, &worker.explained})
      if (const auto* record = ring->find(id)) {
        append_explanation(found, *record, Loop::now(), std::chrono::system_clock::now());
        return true;
      }
    return false;
  }
};

/// `/explain?table=T`: what a request would see now, also with `read_preference` and `operation`.
/// 400 for other parameters, 404 for an unknown table, with the known ones.
Answer explain_table(Query& query) {
  if (auto wrong = read_request_fields(query.request.fields, query.request.query,
                                       query.request.without_preference, query.request))
    return bad_request(query, 400, wrong->reason);
  const auto parameters = explain_parameters(query.request.query);
  if (!parameters) return bad_request(query, 400, parameters.error());
  if (parameters->table.empty())
    return bad_request(
        query, 400,
        fmt::format("{0}?table=NAME explains the current choice of mirrors, {0}/ID the choice for "
                    "the request with this X-Request-Id",
                    kExplainPath));
  const auto* const table = query.topology->find(parameters->table);
  if (table == nullptr) return bad_request(query, 404, query.topology->unknown(parameters->table));
  const auto shards = table->shards.size();
  ExplainRecord record(shards, shards * Candidates::kMost);
  explain_now(query, *table, parameters->operation, record);
  Answer answer;
  append_explanation(answer.body, record, Loop::now(), std::chrono::system_clock::now());
  return answer;
}

/// `/explain/ID`: what was decided about the request with this X-Request-Id, or with this number in
/// the process. 404 if no worker has it any more.
Task<Answer> explain_request(Query& query) {
  const auto id = url_decoded(query.request.path.substr(kExplainPath.size() + 1));
  const auto search = std::make_shared<RecordSearch>(RecordSearch{.id = id, .found = {}});
  query.waited = true;
  {
    QueryStop stop(query);
    stop.arm(query.resources.deadline, StopReason::deadline);
    const bool searched = co_await ask_workers(query.worker, stop, search);
    if (!searched) co_return refusal(504, "the search for the request took too long");
  }
  if (search->found.empty())
    co_return bad_request(
        query, 404,
        fmt::format("no request '{}' among the last {} of each worker (explain_requests) and the "
                    "last ones with X-Karmad-Explain: 1",
                    id, query.topology->settings.explain_requests.value));
  co_return json_answer(200, std::move(search->found));
}

/// Answers a request that holds several (Dialect::parts), one after the other. Each has an answer
/// of its own within the whole, also if it fails.
Task<Answer> answer_parts(Query& query, const ServedPath& served, Scatter scatter) {
  const auto& several = served.endpoint.several;
  std::expected<std::vector<RequestPart>, ClientError> parts;
  auto read = [&] { parts = or_internal_error([&] { return several.parts(query.request); }); };
  if (is_long_work(query, query.request.body.size())) {
    const auto end = co_await run_on_helper(query, query.request.body.size(), read);
    if (end != ThreadPool::End::done) co_return long_work_failure(query, end, Count::bad_requests);
  } else {
    read();
  }
  if (!parts) co_return refused_query(query, served, parts.error());

  const ClientRequest whole_request = query.request;
  std::vector<std::string> bodies;
  std::vector<PartAnswer> answers;
  std::size_t size = 0;
  Answer whole;
  for (const auto& part : *parts) {
    query.request = whole_request;
    query.request.path = part.path;
    query.request.path_table = part.tables;
    query.request.path_table_raw = {};
    query.request.query = {};
    query.request.body = part.body;
    query.record.part_began = Loop::now();
    query.forget_new_plan();
    auto answer = co_await answer_query(query, served, scatter);
    if (query.client.left || query.resources.memory_denied()) co_return answer;
    query.count_answer(answer.status, Loop::now());
    answers.push_back({.status = answer.status});
    bodies.emplace_back(answer.content());
    size += bodies.back().size();
    whole.memory.charge(query.resources.memory,
                        2 * size);  // the parts, and the answer made of them
    query.worker.loop.buffers.give(std::move(answer.body));
  }
  query.request = whole_request;
  for (std::size_t i = 0; i < bodies.size(); ++i) answers[i].body = bodies[i];
  const auto took = std::chrono::duration_cast<Micros>(Loop::now() - query.record.began);
  whole.content_type = served.kind.content_type;
  several.join(whole.body, query.request, answers, took);
  co_return whole;
}

}  // namespace

Task<Answer> answer_banner(Query&) {
  return completed_task(
      json_answer(200, fmt::format(R"({{"name":"karmad","version":{{"number":"{}"}},)"
                                   R"("tagline":"one mirror of every shard"}})",
                                   KARMAD_VERSION)));
}

Task<Answer> answer_healthy(Query&) {
  return completed_task(json_answer(200, R"({"status":"ok"})"));
}

Task<Answer> answer_ready(Query& query) {
  const auto& worker = query.worker;
  const Table* table = nullptr;
  if (const auto name = table_parameter(query.request.query)) {
    table = query.topology->find(*name);
    if (table == nullptr)
      return completed_task(bad_request(query, 404, query.topology->unknown(*name)));
  }
  auto [ready, body] =
      readiness(*query.topology, worker.monitoring.draining.load(std::memory_order_relaxed),
                worker.loop.index, table);
  return completed_task(json_answer(ready ? 200 : 503, std::move(body)));
}

Task<Answer> answer_hello(Query& query) {
  return completed_task(describe_balancer(query));
}

Task<Answer> answer_events(Query& query) {
  return completed_task(events_answer(query));
}

Task<Answer> answer_dashboard(Query& query) {
  const bool packed = wanted_coding(query.request.fields, Compress::gzip) == Coding::gzip;
  Answer answer;
  answer.content_type = "text/html; charset=UTF-8";
  answer.body = packed ? std::string_view(&karmad_dashboard_packed, &karmad_dashboard_packed_end)
                       : std::string_view(&karmad_dashboard_plain, &karmad_dashboard_rest_end);
  answer.fields = std::span(kDashboardFields).first(kDashboardFields.size() - (packed ? 0 : 1));
  return completed_task(std::move(answer));
}

Task<Answer> answer_explain(Query& query) {
  const bool has_id = query.request.path.size() > kExplainPath.size() + 1;
  return has_id ? explain_request(query) : completed_task(explain_table(query));
}

Task<Answer> answer_admission(Query& query) {
  Answer answer;
  append_admission_json(answer.body, query.worker);
  return completed_task(std::move(answer));
}

Task<Answer> answer_served(Query& query, const ServedPath& served, Scatter scatter) {
  if (served.endpoint.statements != Statements::none)
    return answer_statements(query, served, scatter);
  if (query.client.on_admin_port) return completed_task(no_queries_here(query));
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (query.request.body.starts_with(kByteOrderMark))
    query.request.body.remove_prefix(kByteOrderMark.size());
  return served.endpoint.several.parts != nullptr ? answer_parts(query, served, scatter)
                                                  : answer_query(query, served, scatter);
}

Task<Answer> completed_task(Answer answer) {
  co_return answer;
}

Answer refused_query(Query& query, const ServedPath& served, const ClientError& error) {
  count_refused(query.worker, error.status, error.reason);
  return refusal_in(served.kind, *served.dialect, error.status, error.reason);
}

namespace {

/// The first table of that dialect; null: there is none.
const Table* first_table(const Topology& topology, const DialectKind& kind) {
  const auto found = std::ranges::find_if(
      topology.tables, [&](const auto& table) { return table->dialect == kind; });
  return found == topology.tables.end() ? nullptr : found->get();
}

/// Sends the parsed query to the tables of a list.
Task<Answer> send_to_tables(Query& query, const ServedPath& served, Scatter scatter) {
  const auto& list = query.request.parsed.table;
  if (!query.request.parsed.read)
    return completed_task(refused_query(
        query, served, {400, fmt::format("an update names one table, not the list '{}'", list)}));
  auto table = query.topology->combined(list, served.kind);
  if (!table) return completed_task(refused_query(query, served, table.error()));
  query.request.combined_tables.push_back(*std::move(table));
  return scatter(query, *query.request.combined_tables.back(), *served.dialect);
}

/// Sends the parsed query to its table. The callers below return the task of `scatter` itself: a
/// coroutine around it would move the answer once more.
Task<Answer> send_to_table(Query& query, const ServedPath& served, Scatter scatter) {
  const auto& name = query.request.parsed.table;
  if (is_table_list(name)) return send_to_tables(query, served, scatter);
  const auto* table =
      name.empty() ? first_table(*query.topology, served.kind) : query.topology->find(name);
  if (table == nullptr)
    return completed_task(refused_query(query, served, {404, query.topology->unknown(name)}));
  if (table->dialect != served.kind)
    return completed_task(refused_query(
        query, served,
        {404, fmt::format("table '{}' has the dialect {}, which does not use this path", name,
                          table->dialect.name)}));
  return scatter(query, *table, *served.dialect);
}

std::expected<Parsed, ClientError> parse_request(const Query& query, const ServedPath& served) {
  return or_internal_error([&] { return served.dialect->parse(query.request); });
}

/// Parses a long request on a helper thread.
Task<Answer> long_query(Query& query, const ServedPath& served, Scatter scatter) {
  std::expected<Parsed, ClientError> parsed;
  auto parse = [&] { parsed = parse_request(query, served); };
  const auto end = co_await run_on_helper(query, query.request.body.size(), parse);
  if (end != ThreadPool::End::done) co_return long_work_failure(query, end, Count::bad_requests);
  if (!parsed) co_return refused_query(query, served, parsed.error());
  query.request.parsed = *std::move(parsed);
  auto answer = co_await send_to_table(query, served, scatter);
  co_return answer;
}

}  // namespace

Task<Answer> answer_query(Query& query, const ServedPath& served, Scatter scatter) {
  if (is_long_work(query, query.request.body.size())) return long_query(query, served, scatter);
  auto parsed = parse_request(query, served);
  if (!parsed) return completed_task(refused_query(query, served, parsed.error()));
  query.request.parsed = *std::move(parsed);
  return send_to_table(query, served, scatter);
}

}  // namespace karmad
