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
#include "balancer/endpoints/status_answers.hpp"
#include "balancer/status/admission_json.hpp"
#include "balancer/status/explanation_json.hpp"
#include "balancer/status/rates_json.hpp"
#include "balancer/status/readiness.hpp"
#include "balancer/status/rows/statements.hpp"

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

/// Sends the parsed query to the tables of a list.
Task<Answer> send_to_tables(Query& query, const ServedPath& served, Scatter scatter) {
  const auto& list = query.parsed.table;
  if (!query.parsed.read)
    return completed_task(karmad::bad_request(
        query, 400, fmt::format("an update names one table, not the list '{}'", list)));
  auto table = query.topology->combined(list, served.kind);
  if (!table) return completed_task(bad_request(query, table.error()));
  query.combined_tables.push_back(*std::move(table));
  return scatter(query, *query.combined_tables.back(), *served.dialect);
}

/// Sends the parsed query to its table. The callers below return the task of `scatter` itself: a
/// coroutine around it would move the answer once more.
Task<Answer> send_to_table(Query& query, const ServedPath& served, Scatter scatter) {
  const auto& name = query.parsed.table;
  if (is_table_list(name)) return send_to_tables(query, served, scatter);
  const auto* table = query.topology->find(name);
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

/// Answers a search or an update. An update goes to the one mirror that accepts updates: sent to
/// several shards or copies, it would leave them different.
Task<Answer> answer_query(Query& query, const ServedPath& served, Scatter scatter) {
  if (is_long_work(query, query.request.body.size())) return long_query(query, served, scatter);
  auto parsed = served.dialect->parse(query.request);
  if (!parsed) return completed_task(bad_request(query, parsed.error()));
  query.parsed = *std::move(parsed);
  return send_to_table(query, served, scatter);
}

std::expected<AnyStatement, ClientError> read_statement(const ServedPath& served,
                                                        const ClientRequest& request) {
  const auto text = served.dialect->statement(request);
  if (!text) return std::unexpected(text.error());
  return parse_statement(*text);
}

StatusForm form_at(const ServedPath& served) {
  return served.endpoint.statements == Statements::as_text ? StatusForm::text : StatusForm::raw;
}

/// The answer to a statement about karmad itself.
Task<Answer> status_statement(Query& query, const StatusStatement& statement, StatusForm form) {
  if (query.on_admin_port) {
    if (auto refused = refuse_reader(query)) return completed_task(*std::move(refused));
  } else if (query.topology->settings.status_on_query_port.value != StatusOnQueryPort::yes) {
    return completed_task(karmad::bad_request(
        query, 403,
        "statements about karmad are kept to the admin listeners (status_on_query_port)"));
  }
  return statement_answer(query, statement, form);
}

/// Parses a long statement on a helper thread.
Task<Answer> long_statement(Query& query, const ServedPath& served, Scatter scatter) {
  std::expected<AnyStatement, ClientError> statement;
  auto read = [&] { statement = read_statement(served, query.request); };
  const auto end = co_await run_on_helper(query, read);
  if (end != HelperPool::End::done) co_return long_work_failure(query, end, Count::bad_requests);
  if (!statement) co_return bad_request(query, statement.error());
  if (const auto* ours = std::get_if<StatusStatement>(&*statement)) {
    auto answer = co_await status_statement(query, *ours, form_at(served));
    co_return answer;
  }
  if (const auto* unknown = std::get_if<UnknownStatement>(&*statement))
    co_return karmad::bad_request(query, 400, unknown->reason);
  if (query.on_admin_port) co_return no_queries_here(query);
  auto answer = co_await long_query(query, served, scatter);
  co_return answer;
}

Task<Answer> answer_statement(Query& query, const ServedPath& served, Scatter scatter) {
  if (is_long_work(query, query.request.body.size())) return long_statement(query, served, scatter);
  const auto read = read_statement(served, query.request);
  if (!read) return completed_task(bad_request(query, read.error()));
  const auto& statement = *read;
  if (const auto* ours = std::get_if<StatusStatement>(&statement))
    return status_statement(query, *ours, form_at(served));
  if (const auto* unknown = std::get_if<UnknownStatement>(&statement))
    return completed_task(karmad::bad_request(query, 400, unknown->reason));
  if (query.on_admin_port) return completed_task(no_queries_here(query));
  return answer_query(query, served, scatter);
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
    return answer_statement(query, served, scatter);
  return query.on_admin_port ? completed_task(no_queries_here(query))
                             : answer_query(query, served, scatter);
}

}  // namespace karmad
