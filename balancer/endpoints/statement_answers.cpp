#include "balancer/endpoints/statement_answers.hpp"

#include <fmt/format.h>

#include "balancer/core/long_work.hpp"
#include "balancer/endpoints/operator_access.hpp"
#include "balancer/endpoints/schema_answers.hpp"
#include "balancer/endpoints/session_answers.hpp"
#include "balancer/endpoints/status_answers.hpp"
#include "balancer/endpoints/table_answers.hpp"

namespace karmad {
namespace {

StatusForm form_at(const ServedPath& served) {
  return served.endpoint.statements == Statements::as_text ? StatusForm::text : StatusForm::raw;
}

/// The answer to a statement about karmad itself.
Task<Answer> status_statement(Query& query, const StatusStatement& statement, StatusForm form) {
  if (query.client.on_admin_port) {
    if (auto refused = refuse_reader(query)) return completed_task(*std::move(refused));
  } else if (query.topology->settings.status_on_query_port.value != StatusOnQueryPort::yes) {
    return completed_task(bad_request(
        query, 403,
        "statements about karmad are kept to the admin listeners (status_on_query_port)"));
  }
  return statement_answer(query, statement, form);
}

/// KILL of an operator; clients of MySQL have theirs.
Task<Answer> answer_kill(Query& query, const SessionStatement& statement, StatusForm form) {
  if (auto refused = refuse_operator(query)) co_return *std::move(refused);
  query.waited = true;
  const auto outcome = co_await kill_connection(
      query.worker,
      {.connection = statement.connection, .statement_only = statement.statement_only},
      query.resources.deadline);
  if (!outcome) co_return refusal(504, "the search for the connection took too long");
  if (*outcome == KillOutcome::unknown)
    co_return bad_request(query, 404, fmt::format("unknown connection {}", statement.connection));
  co_return rows_answer({}, form);
}

/// Answers the one statement of `query.request`.
Task<Answer> answer_one(Query& query, const ServedPath& served, Scatter scatter) {
  const auto& statement = *query.request.statement;
  const bool of_mirrors = statement.is_of_mirrors();
  const bool of_schema = statement.kind == StatementKind::schema;
  if (query.client.on_admin_port && of_mirrors) return completed_task(no_queries_here(query));
  if (of_schema) return answer_schema(query, served, scatter, form_at(served));
  if (of_mirrors) {
    query.client.meta = nullptr;
    // Only a SELECT: SHOW META may ask it again.
    if (statement.kind == StatementKind::select)
      return answer_select(query, served, scatter, statement.text);
    return answer_query(query, served, scatter);
  }
  auto read = read_statement(statement.text, statement.kind);
  if (!read) return completed_task(bad_request(query, read.error().status, read.error().reason));
  if (const auto* ours = std::get_if<StatusStatement>(&*read))
    return status_statement(query, *ours, form_at(served));
  auto session = std::get<SessionStatement>(*std::move(read));
  if (session.is == SessionStatement::Is::kill) return answer_kill(query, session, form_at(served));
  if (query.client.on_admin_port) return completed_task(no_queries_here(query));
  return answer_session(query, served, scatter, std::move(session), form_at(served));
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

/// Answers several statements.
Task<Answer> answer_script(Query& query, const ServedPath& served, Scatter scatter,
                           std::shared_ptr<const StatementList> list) {
  const auto form = form_at(served);
  Answer whole;
  for (const auto& statement : list->statements) {
    set_statement(query, statement);
    auto answer = co_await answer_one(query, served, scatter);
    if (query.client.left || query.resources.memory_denied() || answer.status != 200)
      co_return answer;
    if (!append_answer(whole.body, answer.content(), form)) co_return answer;
    whole.content_type = answer.content_type;
    whole.memory.charge(query.resources.memory, whole.body.capacity());
    query.worker.loop.buffers.give(std::move(answer.body));
  }
  co_return whole;
}

Task<Answer> answer_list(Query& query, const ServedPath& served, Scatter scatter) {
  // One of several that is planned again with another topology: those before it are done.
  if (query.request.in_session && query.request.statement != nullptr)
    return answer_one(query, served, scatter);
  const auto& read = statements_of(query);
  if (!read) return completed_task(bad_request(query, read.error().status, read.error().reason));
  const auto& list = *read;
  if (const auto& refused = list->refused)
    return completed_task(bad_request(query, refused->status, refused->reason));
  if (list->statements.size() > 1) return answer_script(query, served, scatter, list);
  query.request.statement = {list, &list->statements.front()};
  return answer_one(query, served, scatter);
}

/// Reads long statements on a helper thread.
Task<Answer> read_long_statements(Query& query, const ServedPath& served, Scatter scatter) {
  auto work = [&] { statements_of(query); };
  const auto end = co_await run_on_helper(query, query.request.body.size(), work);
  if (end != ThreadPool::End::done) co_return long_work_failure(query, end, Count::bad_requests);
  auto answer = co_await answer_list(query, served, scatter);
  co_return answer;
}

}  // namespace

const StatementsRead& statements_of(Query& query) {
  const auto& request = query.request;
  if (query.request.statements == nullptr || !query.request.statements->are_of(request))
    query.request.statements = std::make_shared<const FoundStatements>(
        FoundStatements{request.path, request.query, request.body, read_statements(request)});
  return query.request.statements->found;
}

Task<Answer> answer_statements(Query& query, const ServedPath& served, Scatter scatter) {
  const bool found =
      query.request.statements != nullptr && query.request.statements->are_of(query.request);
  if (!found && is_long_work(query, query.request.body.size()))
    return read_long_statements(query, served, scatter);
  return answer_list(query, served, scatter);
}

}  // namespace karmad
