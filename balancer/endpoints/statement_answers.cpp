#include "balancer/endpoints/statement_answers.hpp"

#include <fmt/format.h>

#include "balancer/core/long_work.hpp"
#include "balancer/endpoints/operator_access.hpp"
#include "balancer/endpoints/session_answers.hpp"
#include "balancer/endpoints/status_answers.hpp"
#include "balancer/endpoints/table_answers.hpp"
#include "balancer/status/rows/statements.hpp"

namespace karmad {
namespace {

StatusForm form_at(const ServedPath& served) {
  return served.endpoint.statements == Statements::as_text ? StatusForm::text : StatusForm::raw;
}

/// The answer to a statement about karmad itself.
Task<Answer> status_statement(Query& query, const StatusStatement& statement, StatusForm form) {
  if (query.on_admin_port) {
    if (auto refused = refuse_reader(query)) return completed_task(*std::move(refused));
  } else if (query.topology->settings.status_on_query_port.value != StatusOnQueryPort::yes) {
    return completed_task(bad_request(
        query, 403,
        "statements about karmad are kept to the admin listeners (status_on_query_port)"));
  }
  return statement_answer(query, statement, form);
}

/// Answers the one statement of `query.request`.
Task<Answer> answer_one(Query& query, const ServedPath& served, Scatter scatter,
                        std::string_view statement) {
  const auto& dialect = *served.dialect;
  const auto ticket_class = dialect.ticket_class(query.request);
  const bool of_mirrors = ticket_class != TicketClass::exempt;
  if (of_mirrors && query.on_admin_port) return completed_task(no_queries_here(query));
  if (of_mirrors) {
    query.meta = nullptr;
    // Only a SELECT: SHOW META may ask it again.
    if (ticket_class == TicketClass::search &&
        std::holds_alternative<SelectStatement>(parse_statement(statement)))
      return answer_select(query, served, scatter, statement);
    return answer_query(query, served, scatter);
  }
  if (auto of_session = dialect.session_statement(statement))
    return query.on_admin_port
               ? completed_task(no_queries_here(query))
               : answer_session(query, served, scatter, *std::move(of_session), form_at(served));
  const auto read = parse_statement(statement);
  if (const auto* ours = std::get_if<StatusStatement>(&read))
    return status_statement(query, *ours, form_at(served));
  if (const auto* unknown = std::get_if<UnknownStatement>(&read))
    return completed_task(bad_request(query, 400, unknown->reason));
  return answer_query(query, served, scatter);  // the dialect refuses it and says why
}

/// Adds an answer to those before it: an array to an array, or a table to tables.
bool append_answer(std::string& out, std::string_view body, StatusForm form) {
  if (form == StatusForm::text) {
    out.append(out.empty() ? "" : "\n").append(body);
    return true;
  }
  const auto begin = body.find_first_not_of(kJsonSpace);
  const auto end = body.find_last_not_of(kJsonSpace);
  if (begin == body.npos || body[begin] != '[' || body[end] != ']') return false;
  if (out.empty())
    out += '[';
  else
    out.replace(out.size() - 1, 1, ",\n");
  out.append(body.substr(begin + 1, end - begin));
  return true;
}

/// Answers several statements, views into a text that the query keeps.
Task<Answer> answer_script(Query& query, const ServedPath& served, Scatter scatter,
                           std::vector<std::string_view> statements) {
  const auto form = form_at(served);
  Answer whole;
  for (const auto statement : statements) {
    set_statement(query, statement);
    auto answer = co_await answer_one(query, served, scatter, statement);
    if (query.client_left || query.memory_denied() || answer.status != 200) co_return answer;
    if (!append_answer(whole.body, answer.content(), form)) co_return answer;
    whole.content_type = answer.content_type;
    whole.memory.charge(query.memory, whole.body.capacity());
    query.worker.loop.buffers.give(std::move(answer.body));
  }
  co_return whole;
}

using StatementList = std::expected<std::vector<std::string_view>, ClientError>;

/// The statements of the request; the query keeps their text.
StatementList read_statements(Query& query, const Dialect& dialect) {
  auto text = dialect.statement(query.request);
  if (!text) return std::unexpected(std::move(text.error()));
  return dialect.split(query.keep(*std::move(text)));
}

Task<Answer> answer_list(Query& query, const ServedPath& served, Scatter scatter,
                         StatementList read) {
  if (!read) return completed_task(bad_request(query, read.error().status, read.error().reason));
  if (read->empty()) return completed_task(bad_request(query, 400, "there is no statement"));
  if (read->size() == 1) return answer_one(query, served, scatter, read->front());
  return answer_script(query, served, scatter, *std::move(read));
}

/// Reads long statements on a helper thread.
Task<Answer> read_long_statements(Query& query, const ServedPath& served, Scatter scatter) {
  StatementList read;
  auto work = [&] { read = read_statements(query, *served.dialect); };
  const auto end = co_await run_on_helper(query, query.request.body.size(), work);
  if (end != HelperPool::End::done) co_return long_work_failure(query, end, Count::bad_requests);
  auto answer = co_await answer_list(query, served, scatter, std::move(read));
  co_return answer;
}

}  // namespace

Task<Answer> answer_statements(Query& query, const ServedPath& served, Scatter scatter) {
  if (is_long_work(query, query.request.body.size()))
    return read_long_statements(query, served, scatter);
  return answer_list(query, served, scatter, read_statements(query, *served.dialect));
}

}  // namespace karmad
