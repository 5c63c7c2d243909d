#include "agent/dialect/manticore_sql/manticore_sql.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/manticore_json/judge.hpp"
#include "agent/dialect/manticore_json/reply.hpp"
#include "agent/dialect/manticore_sql/call/call_plan.hpp"
#include "agent/dialect/manticore_sql/change/change.hpp"
#include "agent/dialect/manticore_sql/select.hpp"
#include "agent/dialect/manticore_sql/sql_plan.hpp"
#include "agent/dialect/manticore_sql/sql_tokens.hpp"
#include "agent/dialect/manticore_sql/statement.hpp"
#include "agent/dialect/manticore_sql/statements/read_session_statement.hpp"
#include "agent/dialect/manticore_sql/statements/show.hpp"
#include "agent/dialect/manticore_sql/statements/statement_kind.hpp"
#include "agent/dialect/manticore_sql/statements/statement_list.hpp"
#include "agent/dialect/manticore_sql/table_name.hpp"
#include "agent/dialect/manticore_update/judge_update.hpp"
#include "agent/dialect/plan/two_rounds.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"
#include "agent/transport/http/url_encoding.hpp"

namespace karmad {

namespace {

/// The statement with the mirror's names of the table.
std::string renamed(std::string_view statement, const Parsed& parsed,
                    std::span<const std::string> tables) {
  std::string out;
  append_with_tables(out, statement, parsed.table_begin, parsed.table_end, tables);
  return out;
}

/// `whole` with the bytes of `part`, a view into it, replaced.
void append_replaced(std::string& out, std::string_view whole, std::string_view part,
                     std::string_view by) {
  const auto begin = static_cast<std::size_t>(part.data() - whole.data());
  out.append(whole.substr(0, begin)).append(by).append(whole.substr(begin + part.size()));
}

/// Whether the request is a change; false if it is not known.
bool is_change_request(const ClientRequest* request) {
  if (request == nullptr) return false;
  const auto statement = statement_of(*request);
  return statement && kind_of(*statement) == StatementKind::change;
}

bool is_filled(std::string_view value) {
  return is_string(value) && value.size() > 2;
}

/// Reads the error and warning of an answer or a result set.
void read_members(JsonCursor& json, std::string_view& error, bool& warning) {
  visit_members(json, [&](std::string_view key, std::string_view value) {
    if (key == "error" && error.empty()) error = reason_in(value);
    if (key == "warning") warning |= is_filled(value) || is_object(value);
    return true;
  });
}

TicketClass ticket_class_of(StatementKind kind) {
  switch (kind) {
    case StatementKind::change:
      return TicketClass::update;
    case StatementKind::other:
      return TicketClass::exempt;
    default:
      return TicketClass::search;
  }
}

/// The highest class of the statements of a request; `lowest` without any.
template <class Class, class ClassOf>
Class highest_of(const ClientRequest& request, Class lowest, ClassOf class_of) {
  const auto statement = statement_of(request);
  const auto list = statement ? split_statements(*statement) : std::unexpected(ClientError{});
  if (!list) return lowest;
  for (const auto one : *list) lowest = std::max(lowest, class_of(one));
  return lowest;
}

std::unexpected<ClientError> not_passed_on(std::string reason) {
  return std::unexpected(ClientError{400, std::move(reason)});
}

/// SET profiling = 1; SELECT …; SHOW PLAN or PROFILE: the table is that of the SELECT.
std::expected<Parsed, ClientError> read_profile(std::string_view statements) {
  const auto list = split_statements(statements);
  if (!list) return std::unexpected(list.error());
  const auto shown = list->size() == 3 ? read_session_statement(list->back()) : std::nullopt;
  if (!shown || shown->is != SessionStatement::Is::inspected ||
      kind_of((*list)[1]) != StatementKind::select)
    return not_passed_on("SHOW PLAN and SHOW PROFILE follow one SELECT");
  auto select = read_select((*list)[1]);
  if (!select) return std::unexpected(std::move(select.error()));
  const auto before = static_cast<std::size_t>((*list)[1].data() - statements.data());
  return Parsed{.table = std::move(select->table),
                .table_begin = before + select->table_begin,
                .table_end = before + select->table_end,
                .planned = true,
                .options = select->options};
}

std::expected<Parsed, ClientError> read_of_select(std::string_view statement) {
  if (!may_name_tables(statement)) return Parsed{.table = {}, .planned = true};
  auto select = read_select(statement);
  if (!select) return std::unexpected(std::move(select.error()));
  return Parsed{.table = std::move(select->table),
                .table_begin = select->table_begin,
                .table_end = select->table_end,
                .planned = select->scrolls,
                .options = select->options};
}

std::expected<Parsed, ClientError> read_statement(std::string_view statement) {
  switch (kind_of(statement)) {
    case StatementKind::select:
      return read_of_select(statement);
    case StatementKind::show:
      return read_show(statement);
    case StatementKind::profile:
      return read_profile(statement);
    case StatementKind::change:
      return read_change(statement);
    case StatementKind::call:
      return read_call(statement);
    case StatementKind::other:
      break;
  }
  SqlTokens tokens(statement);
  if (auto trouble = tokens.next().trouble()) return not_passed_on(*std::move(trouble));
  return not_passed_on(
      "only SELECT, INSERT, REPLACE, UPDATE, DELETE, CALL and some of SHOW are passed to the "
      "agents");
}

/// The plan of a SELECT over several shards (see plan_select). Refuses KNN() by a document on one
/// shard, which is sent the client's statement.
std::expected<Plan, ClientError> plan_over_shards(std::string_view statement, RowForm form,
                                                  Collation collation, const ScrollPlace& place,
                                                  const ShardLayout& layout) {
  auto select = plan_select(statement, form, collation, place);
  if (!select) return std::unexpected(std::move(select.error()));
  if (select->document && layout.shards == 1)
    return std::unexpected(ClientError{400, "one shard has the document: send it the statement"});
  auto plan = plan_of_mode_raw(form);
  plan.parser_errors_are_400 = form == RowForm::hits;
  take_select(plan, *std::move(select), statement, layout);
  return plan;
}

/// Whether the answer is the hits of a search. Servers write these two members first.
bool begins_like_hits(std::string_view body) {
  JsonCursor json(body);
  skip_space(json);
  if (!take(json, '{')) return false;
  const auto first = take_string(json);
  return first == "took" || first == "hits";
}

}  // namespace

TicketClass ManticoreSql::ticket_class(const ClientRequest& request) const {
  return highest_of(request, TicketClass::exempt,
                    [](std::string_view one) { return ticket_class_of(kind_of(one)); });
}

SelectionClass ManticoreSql::selection_class(const ClientRequest& request) const {
  return highest_of(request, SelectionClass::none, selection_class_of);
}

std::expected<std::string, ClientError> ManticoreSql::statement(
    const ClientRequest& request) const {
  auto text = statement_of(request);
  if (!text || form_of(request) != RowForm::hits) return text;
  const auto list = split_statements(*text);
  const auto changes = [](std::string_view one) { return kind_of(one) == StatementKind::change; };
  if (list && std::ranges::any_of(*list, changes))  // as the search server answers them there
    return std::unexpected(ClientError{
        501, "only SELECT queries are supported at /sql; send changes to /sql?mode=raw"});
  return text;
}

std::expected<std::vector<std::string_view>, ClientError> ManticoreSql::split(
    std::string_view statements) const {
  return split_statements(statements);
}

std::optional<SessionStatement> ManticoreSql::session_statement(std::string_view statement) const {
  return read_session_statement(statement);
}

std::string ManticoreSql::inspecting(std::string_view select, std::string_view what) const {
  return write_inspection(select, what);
}

std::expected<Parsed, ClientError> ManticoreSql::parse(const ClientRequest& request) const {
  const auto statement = statement_of(request);
  if (!statement) return std::unexpected(statement.error());
  auto parsed = read_statement(*statement);
  if (!parsed) return parsed;
  if (request.in_session) parsed->planned = true;
  parsed->should_use_primary = selection_class_of(*statement) == SelectionClass::should_use_primary;
  return parsed;
}

std::expected<Plan, ClientError> ManticoreSql::plan(const ClientRequest& request,
                                                    const Parsed& parsed,
                                                    ShardLayout layout) const {
  auto statement = statement_of(request);
  if (!statement) return std::unexpected(std::move(statement.error()));
  const auto form = form_of(request);
  switch (kind_of(*statement)) {
    case StatementKind::show:
      return plan_show(*std::move(statement), parsed, form, layout.shards);
    case StatementKind::profile:
      return plan_for_one_shard(*std::move(statement), parsed, layout.shards,
                                {.form = form, .kept = OneShardSets::Kept::last});
    case StatementKind::select:
      return plan_of_select(*std::move(statement), parsed, form, layout);
    case StatementKind::change:
      return plan_change(*statement, parsed, form, layout);
    case StatementKind::call:
      return plan_call(*statement, layout, form);
    case StatementKind::other:
      break;
  }
  return Dialect::plan(request, parsed, layout);
}

/// On one shard a SELECT that cannot be planned is passed on as it is. Without FROM a mirror is
/// asked for the form that the client wants.
std::expected<Plan, ClientError> ManticoreSql::plan_of_select(std::string statement,
                                                              const Parsed& parsed, RowForm form,
                                                              const ShardLayout& layout) const {
  if (parsed.table.empty()) {
    using Kept = OneShardSets::Kept;
    const bool hits = form == RowForm::hits;
    auto plan = plan_for_one_shard(std::move(statement), parsed, layout.shards,
                                   {.form = form, .kept = hits ? Kept::whole_answer : Kept::all});
    if (hits) plan.request.path = "/sql";
    return plan;
  }
  const ScrollPlace place{parsed.table, layout.shards, settings_.scroll_key, "sql"};
  auto plan = plan_over_shards(statement, form, settings_.collation, place, layout);
  const auto scrolls = [&] {
    const auto select = read_select(statement);
    return select && select->scrolls;
  };
  if (plan || layout.shards > 1 || scrolls()) return plan;
  return plan_for_one_shard(std::move(statement), parsed, layout.shards, {.form = form});
}

AgentRequest ManticoreSql::write(const ClientRequest& request, const Parsed& parsed,
                                 std::span<const std::string> tables, std::string& buffer) const {
  using In = StatementPlace::In;
  buffer.clear();
  AgentRequest written{request.method, request.path, request.content_type, request.body};
  const auto place = place_of_statement(request);
  const auto statement = statement_of(request);
  if (!place || !statement) return written;
  if (request.path != "/sql") {  // the server knows no forms there
    buffer = renamed(*statement, parsed, tables);
    return {"POST", request.path, "text/plain", buffer};
  }

  std::string text;  // in the encoding of its place in the request
  if (place->in == In::body)
    text = renamed(*statement, parsed, tables);
  else if (tables.size() == 1 && tables.front() == parsed.table &&
           *statement == url_decoded(place->encoded))
    text = place->encoded;
  else
    append_url_encoded(text, renamed(*statement, parsed, tables));

  if (!request.query.empty()) buffer.append(request.path).append("?");
  if (place->in == In::url_query)
    append_replaced(buffer, request.query, place->encoded, text);
  else
    buffer.append(request.query);
  const auto target_size = buffer.size();
  if (place->in == In::body)
    buffer.append(text);
  else if (place->in == In::body_query)
    append_replaced(buffer, request.body, place->encoded, text);
  const std::string_view all(buffer);
  if (target_size != 0) written.target = all.substr(0, target_size);
  if (place->in != In::url_query) written.body = all.substr(target_size);
  return written;
}

Judgement ManticoreSql::judge(const AgentReply& reply, bool merged) const {
  if (reply.status == 200 && reply.content_type.starts_with("text/plain") && !reply.body.empty())
    return {Outcome::answered, {}};  // the table drawn by /cli
  auto judged = judge_reply(reply);
  if (judged.outcome == Outcome::agent_error && reply.status == 500 &&
      is_update_conflict(judged.message))
    return judgement(Outcome::client_mistake, judged.message);
  // As for other updates: without an error text it does not tell what was done.
  if (judged.outcome == Outcome::agent_error && reply.status == 500 &&
      agent_error_text(reply.body).empty() && is_change_request(reply.request))
    return judgement(Outcome::wrong_reply, judged.message);
  if (judged.outcome != Outcome::answered) return judged;
  if (!merged && reply.request != nullptr && reply.request->rows_only &&
      begins_like_hits(reply.body))
    return judgement(Outcome::wrong_reply, "the answer has hits in place of rows");
  std::string_view error;
  bool warning = false;
  JsonCursor json(reply.body);
  skip_space(json);
  if (!json.done() && *json.at == '[') {
    JsonElements sets(json);
    while (sets.next()) {
      const auto* const before = json.at;
      read_members(json, error, warning);
      if (json.at == before) break;  // not an object: no more members to read
    }
  } else {
    read_members(json, error, warning);
  }
  if (!error.empty()) {
    const auto text = json_unescaped(error);
    if (is_update_conflict(text)) return judgement(Outcome::client_mistake, text);
    return judge_error(text, reply.request);
  }
  if (warning) judged.outcome = Outcome::answered_with_warning;
  return judged;
}

void ManticoreSql::refuse(int, std::string_view reason, std::string& out) const {
  append_error_body(out, reason);
}

}  // namespace karmad
