#include "balancer/endpoints/handlers.hpp"

#include "balancer/endpoints/operator_access.hpp"

#include <fmt/format.h>

#include "agent/transport/http/url_encoding.hpp"
#include "balancer/dashboard/dashboard.hpp"
#include "balancer/endpoints/description.hpp"
#include "balancer/endpoints/event_answers.hpp"
#include "balancer/endpoints/explain_answers.hpp"
#include "balancer/endpoints/packed_body.hpp"
#include "balancer/endpoints/part_answers.hpp"
#include "balancer/endpoints/statement_answers.hpp"
#include "balancer/endpoints/status_answers.hpp"
#include "balancer/endpoints/table_answers.hpp"
#include "balancer/status/admission_json.hpp"
#include "balancer/status/explanation_json.hpp"
#include "balancer/status/readiness.hpp"

namespace karmad {

namespace {

Answer text_json(int status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

/// The table that a health check asks for; none: for all. Its other parameters are ignored.
std::optional<std::string> table_parameter(std::string_view parameters) {
  while (auto parameter = take_parameter(parameters))
    if (parameter->name == "table") return std::move(parameter->value);
  return std::nullopt;
}

}  // namespace

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
  if (query.on_admin_port) return completed_task(no_queries_here(query));
  return served.endpoint.several.parts != nullptr ? answer_parts(query, served, scatter)
                                                  : answer_query(query, served, scatter);
}

}  // namespace karmad
