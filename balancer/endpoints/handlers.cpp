#include "balancer/endpoints/handlers.hpp"

#include "balancer/endpoints/operator_access.hpp"

#include <fmt/format.h>

#include "agent/transport/http/url_encoding.hpp"
#include "balancer/core/long_work.hpp"
#include "balancer/dashboard/dashboard.hpp"
#include "balancer/endpoints/description.hpp"
#include "balancer/endpoints/event_answers.hpp"
#include "balancer/endpoints/explain_answers.hpp"
#include "balancer/endpoints/packed_body.hpp"
#include "balancer/endpoints/statement_answers.hpp"
#include "balancer/endpoints/status_answers.hpp"
#include "balancer/status/admission_json.hpp"
#include "balancer/status/explanation_json.hpp"
#include "balancer/status/rates_json.hpp"
#include "balancer/status/readiness.hpp"

namespace karmad {

Task<Answer> completed_task(Answer answer) {
  co_return answer;
}

namespace {

Answer bad_request(Query& query, const ClientError& error) {
  return karmad::bad_request(query, error.status, error.reason);
}

Answer text_json(int status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

/// The table that a health check asks for; none: for all. Its other parameters are ignored.
std::optional<std::string> table_parameter(std::string_view parameters) {
  while (!parameters.empty()) {
    const auto parameter = parameters.substr(0, parameters.find('&'));
    parameters.remove_prefix(std::min(parameter.size() + 1, parameters.size()));
    constexpr std::string_view kTableParameter = "table=";
    if (parameter.starts_with(kTableParameter))
      return url_decoded(parameter.substr(kTableParameter.size()));
  }
  return std::nullopt;
}

/// The first table of that dialect; null: there is none.
const Table* first_table(const Topology& topology, const DialectKind& kind) {
  const auto found = std::ranges::find_if(
      topology.tables, [&](const auto& table) { return table->dialect == kind; });
  return found == topology.tables.end() ? nullptr : found->get();
}

/// Sends the parsed query to its table. The callers below return the task of `scatter` itself: a
/// coroutine around it would move the answer once more.
Task<Answer> send_to_table(Query& query, const ServedPath& served, Scatter scatter) {
  const auto* table = query.parsed.table.empty() ? first_table(*query.topology, served.kind)
                                                 : query.topology->find(query.parsed.table);
  if (table == nullptr)
    return completed_task(
        karmad::bad_request(query, 404, query.topology->unknown(query.parsed.table)));
  if (table->dialect != served.kind)
    return completed_task(karmad::bad_request(
        query, 404,
        fmt::format("table '{}' has the dialect {}, which does not use this path",
                    query.parsed.table, table->dialect.name)));
  return scatter(query, *table, *served.dialect);
}

/// Parses a long request on a helper thread.
Task<Answer> long_query(Query& query, const ServedPath& served, Scatter scatter) {
  std::expected<Parsed, ClientError> parsed;
  auto parse = [&] { parsed = served.dialect->parse(query.request); };
  const auto end = co_await run_on_helper(query, parse);
  if (end != HelperPool::End::done) co_return long_work_failure(query, end, Count::bad_requests);
  if (!parsed) co_return bad_request(query, parsed.error());
  query.parsed = *std::move(parsed);
  auto answer = co_await send_to_table(query, served, scatter);
  co_return answer;
}

}  // namespace

Task<Answer> answer_query(Query& query, const ServedPath& served, Scatter scatter) {
  if (is_long_work(query, query.request.body.size())) return long_query(query, served, scatter);
  auto parsed = served.dialect->parse(query.request);
  if (!parsed) return completed_task(bad_request(query, parsed.error()));
  query.parsed = *std::move(parsed);
  return send_to_table(query, served, scatter);
}

Task<Answer> answer_banner(Query&) {
  return completed_task(
      text_json(200, fmt::format(R"({{"name":"karmad","version":{{"number":"{}"}},)"
                                 R"("tagline":"one mirror of every shard"}})",
                                 KARMAD_VERSION)));
}

Task<Answer> answer_healthy(Query&) {
  return completed_task(text_json(200, R"({"status":"ok"})"));
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
  return completed_task(text_json(ready ? 200 : 503, std::move(body)));
}

Task<Answer> answer_agents(Query& query) {
  return agents_answer(query);
}

Task<Answer> answer_hello(Query& query) {
  return completed_task(describe_balancer(query));
}

Task<Answer> answer_status(Query& query) {
  return status_answer(query);
}

Task<Answer> answer_metrics(Query& query) {
  return metrics_answer(query);
}

Task<Answer> answer_events(Query& query) {
  return completed_task(events_answer(query));
}

Task<Answer> answer_dashboard(Query& query) {
  const auto page = dashboard_page();
  const bool packed = accepts_gzip(query.head.find("Accept-Encoding"));
  Answer answer;
  answer.content_type = "text/html; charset=UTF-8";
  answer.body = packed ? page.packed : page.plain;
  answer.fields = packed ? page.packed_fields : page.fields;
  return completed_task(std::move(answer));
}

Task<Answer> answer_explain(Query& query) {
  const bool has_id = query.request.path.size() > kExplainPath.size() + 1;
  return has_id ? explain_request(query) : completed_task(explain_table(query));
}

Task<Answer> answer_admission(Query& query) {
  Answer answer;
  append_admission_json(answer.body, query.worker, rate_texts(query.worker));
  return completed_task(std::move(answer));
}

Task<Answer> answer_served(Query& query, const ServedPath& served, Scatter scatter) {
  if (served.endpoint.statements != Statements::none)
    return answer_statements(query, served, scatter);
  return query.on_admin_port ? completed_task(no_queries_here(query))
                             : answer_query(query, served, scatter);
}

}  // namespace karmad
