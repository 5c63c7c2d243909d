#include <fmt/format.h>

#include "agent/json/json_text.hpp"
#include "balancer/core/client_connection.hpp"
#include "balancer/core/refusal.hpp"
#include "balancer/endpoints/handlers.hpp"
#include "balancer/status/rows/like.hpp"

namespace karmad {
namespace {

using Is = sql::SessionStatement::Is;

/// SHOW WARNINGS: those of the SELECT in its SHOW META. Without columns if there are none, as the
/// search server answers.
ResultSet rows_of_warnings(const ResultSet& meta) {
  constexpr std::string_view kWarning = R"("warning")";
  auto set = text_rows({"Level", "Code", "Message"});
  for (std::size_t r = 0; r < meta.count; ++r)
    if (meta.row(r)[0] == kWarning) set.add_row({"warning", "1000", cell_text(meta.row(r)[1])});
  return set.count == 0 ? ResultSet{} : std::move(set);
}

/// What the session knows of its last SELECT, as the answer to the statement.
ResultSet rows_of_session(Is what, const SelectMeta* meta) {
  if (what == Is::scroll) {
    auto token = text_rows({"scroll_token"});
    if (meta != nullptr && !meta->scroll_token.empty()) token.add_row({meta->scroll_token});
    return token;
  }
  auto rows = meta != nullptr && meta->known() ? copy_of(meta->rows)
                                               : text_rows({"Variable_name", "Value"});
  return what == Is::meta ? std::move(rows) : rows_of_warnings(rows);
}

/// Sends the SELECT to the table that it names, as one statement of a list.
Task<Answer> ask_again(Query& query, const ServedPath& served, Scatter scatter, std::string select,
                       std::string_view inspected_by = {}) {
  set_statement(query, {query.keep(std::move(select)), sql::StatementKind::select});
  query.request.inspected_by = inspected_by;
  return answer_query(query, served, scatter);
}

Task<Answer> answer_meta(Query& query, const ServedPath& served, Scatter scatter,
                         sql::SessionStatement statement) {
  SqlSession* const session =
      query.client.sql_session != nullptr ? query.client.sql_session->get() : nullptr;
  if (session != nullptr && !session->meta.known() && !session->select.empty()) {
    query.client.meta = &session->meta;
    auto again = co_await ask_again(query, served, scatter, session->select);
    if (again.status != 200) co_return again;
  }
  auto rows = rows_of_session(statement.is, session != nullptr ? &session->meta : nullptr);
  keep_like(rows, statement.like);
  co_return rows_answer(query, served, std::move(rows));
}

/// SHOW META after a SELECT that failed, as the search server answers it.
SelectMeta meta_of_failure(std::string_view reason) {
  constexpr std::size_t kLongestReason = 4096;
  SelectMeta meta{.rows = text_rows({"Variable_name", "Value"})};
  meta.rows.add_row({"error", shortened_utf8(reason, kLongestReason)});
  meta.rows.add_row({"total", "0"});
  meta.rows.add_row({"total_found", "0"});
  meta.rows.add_row({"total_relation", "eq"});
  meta.rows.add_row({"time", "0.000"});
  return meta;
}

}  // namespace

void set_statement(Query& query, sql::StatementText statement) {
  query.request = ClientRequest{.method = "POST",
                                .path = query.request.path,
                                .query = query.request.path == "/sql" ? "mode=raw" : "",
                                .content_type = "text/plain",
                                .body = statement.text,
                                .in_session = true};
  statement.form = sql::form_of(query.request);
  statement.place = {sql::StatementPlace::In::body, statement.text};
  query.request.statement = std::make_shared<const sql::StatementText>(std::move(statement));
}

Task<Answer> answer_select(Query& query, const ServedPath& served, Scatter scatter,
                           std::string_view select) {
  if (query.client.sql_session == nullptr) {
    auto answer = co_await answer_query(query, served, scatter);
    co_return answer;
  }
  auto& session = *query.client.sql_session;
  if (session == nullptr) session = std::make_unique<SqlSession>();
  session->meta = {};
  session->select = select.size() <= kLongestKeptSelect ? select : std::string_view();
  query.client.meta = &session->meta;
  auto answer = co_await answer_query(query, served, scatter);
  const bool interrupted = query.client.left;  // or killed
  if (interrupted || answer.status != 200) {
    session->select.clear();
    session->meta = meta_of_failure(interrupted ? "Query execution was interrupted"
                                                : reason_in_answer(answer.content()));
  }
  co_return answer;
}

Task<Answer> answer_session(Query& query, const ServedPath& served, Scatter scatter,
                            sql::SessionStatement statement) {
  switch (statement.is) {
    case Is::kill:
      return completed_task(
          bad_request(query, 400, sql::unknown_statement(query.request.statement->text).reason));
    case Is::meta:
    case Is::scroll:
    case Is::warnings:
      return answer_meta(query, served, scatter, std::move(statement));
    case Is::inspected:
      break;
    default:
      return completed_task(rows_answer(query, served, ResultSet()));
  }
  if (query.client.sql_session == nullptr || *query.client.sql_session == nullptr ||
      (*query.client.sql_session)->select.empty())
    return completed_task(bad_request(
        query, 400,
        fmt::format("{} follows a successful SELECT of up to {} KiB on the same connection",
                    statement.text, kLongestKeptSelect >> 10)));
  query.client.meta = nullptr;
  return ask_again(query, served, scatter, (*query.client.sql_session)->select,
                   query.keep(std::move(statement.text)));
}

}  // namespace karmad
