#include "balancer/endpoints/session_answers.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include "agent/json/json_text.hpp"
#include "agent/json/json_tree.hpp"
#include "balancer/core/refusal.hpp"
#include "balancer/core/sql_session.hpp"
#include "balancer/endpoints/table_answers.hpp"
#include "balancer/status/rows/like.hpp"
#include "balancer/status/rows/render.hpp"

namespace karmad {
namespace {

using Is = SessionStatement::Is;

/// The rows of the result set `number` of the session's, read from JSON that karmad wrote, as those
/// of `set`.
ResultSet with_rows_of(ResultSet set, const std::string& meta, rapidjson::SizeType number) {
  rapidjson::Document json;
  if (json.Parse(meta).HasParseError() || !json.IsArray() || json.Size() <= number) return set;
  const auto data = json[number].FindMember("data");
  if (data == json[number].MemberEnd()) return set;
  for (const auto& row : data->value.GetArray()) {
    auto& texts = set.rows.emplace_back();
    for (const auto& member : row.GetObject()) texts.emplace_back(text_of(member.value));
  }
  return set;
}

/// SHOW WARNINGS: those of the SELECT in its SHOW META.
ResultSet rows_of_warnings(const ResultSet& meta) {
  ResultSet set{{"Level", "Code", "Message"}, {}};
  for (const auto& row : meta.rows)
    if (row[0] == "warning") set.rows.push_back({"warning", "1000", row[1]});
  return set;
}

Answer rows_answer(ResultSet set, const std::optional<std::string>& like, StatusForm form) {
  if (like) std::erase_if(set.rows, [&](const auto& row) { return !is_like(row[0], *like); });
  Answer answer;
  if (form == StatusForm::text) {
    answer.content_type = "text/plain; charset=UTF-8";
    append_text(answer.body, set);
  } else {
    append_raw(answer.body, {&set, 1});
  }
  return answer;
}

Answer done_answer(StatusForm form) {
  Answer answer;
  if (form == StatusForm::text) answer.content_type = "text/plain; charset=UTF-8";
  answer.body = form == StatusForm::text ? "Query OK, 0 rows affected\n"
                                         : R"([{"total":0,"error":"","warning":""}])";
  return answer;
}

/// Sends the SELECT to the table that it names, as one statement of a list.
Task<Answer> ask_again(Query& query, const ServedPath& served, Scatter scatter,
                       std::string select, std::string_view inspected_by = {}) {
  set_statement(query, {query.keep(std::move(select)), StatementKind::select});
  query.request.inspected_by = inspected_by;
  return answer_query(query, served, scatter);
}

Task<Answer> answer_meta(Query& query, const ServedPath& served, Scatter scatter,
                         SessionStatement statement, StatusForm form) {
  SqlSession* const session = query.sql_session != nullptr ? query.sql_session->get() : nullptr;
  if (session != nullptr && session->meta.empty() && !session->select.empty()) {
    query.meta = &session->meta;
    auto again = co_await ask_again(query, served, scatter, session->select);
    if (again.status != 200) co_return again;
  }
  const auto kept = session != nullptr ? session->meta : std::string();
  if (statement.is == Is::scroll) {
    auto token = with_rows_of({{"scroll_token"}, {}}, kept, 1);
    if (token.rows.empty()) token.rows.push_back({""});  // as the search server without a scroll
    co_return rows_answer(std::move(token), statement.like, form);
  }
  auto rows = with_rows_of({{"Variable_name", "Value"}, {}}, kept, 0);
  if (statement.is == Is::meta) co_return rows_answer(std::move(rows), statement.like, form);
  auto warnings = rows_of_warnings(rows);
  // As the search server answers, without columns.
  if (warnings.rows.empty()) co_return done_answer(form);
  co_return rows_answer(std::move(warnings), statement.like, form);
}

/// SHOW META after a SELECT that failed, as the search server answers it.
std::string meta_of_failure(std::string reason) {
  constexpr std::size_t kLongestReason = 4096;
  reason = shortened_utf8(reason, kLongestReason);
  const ResultSet set{
      {"Variable_name", "Value"},
      {{"error", std::move(reason)}, {"total", "0"}, {"total_found", "0"}, {"time", "0.000"}}};
  std::string meta;
  append_raw(meta, {&set, 1});
  return meta;
}

}  // namespace

void set_statement(Query& query, StatementText statement) {
  query.request = {.method = "POST",
                   .path = query.request.path,
                   .query = query.request.path == "/sql" ? "mode=raw" : "",
                   .content_type = "text/plain",
                   .body = statement.text,
                   .in_session = true};
  statement.form = form_of(query.request);
  statement.place = {StatementPlace::In::body, statement.text};
  query.request.statement = std::make_shared<const StatementText>(std::move(statement));
}

Task<Answer> answer_select(Query& query, const ServedPath& served, Scatter scatter,
                           std::string_view select) {
  if (query.sql_session == nullptr) {
    auto answer = co_await answer_query(query, served, scatter);
    co_return answer;
  }
  auto& session = *query.sql_session;
  if (session == nullptr) session = std::make_unique<SqlSession>();
  session->meta.clear();
  session->select = select.size() <= kLongestKeptSelect ? select : std::string_view();
  query.meta = &session->meta;
  auto answer = co_await answer_query(query, served, scatter);
  if (answer.status != 200) {
    session->select.clear();
    session->meta = meta_of_failure(reason_in_answer(answer.content()));
  }
  co_return answer;
}

Task<Answer> answer_session(Query& query, const ServedPath& served, Scatter scatter,
                            SessionStatement statement, StatusForm form) {
  switch (statement.is) {
    case Is::nothing:
    case Is::use:
      return completed_task(done_answer(form));
    case Is::databases:
    case Is::collations:
    case Is::charsets:
      return completed_task(
          bad_request(query, 400, unknown_statement(query.request.statement->text).reason));
    case Is::meta:
    case Is::scroll:
    case Is::warnings:
      return answer_meta(query, served, scatter, std::move(statement), form);
    case Is::inspected:
      break;
  }
  if (query.sql_session == nullptr || *query.sql_session == nullptr ||
      (*query.sql_session)->select.empty())
    return completed_task(bad_request(
        query, 400,
        fmt::format("{} follows a successful SELECT of up to {} KiB on the same connection",
                    statement.text, kLongestKeptSelect >> 10)));
  query.meta = nullptr;
  return ask_again(query, served, scatter, (*query.sql_session)->select,
                   query.keep(std::move(statement.text)));
}

}  // namespace karmad
