#include <fmt/format.h>
#include <functional>

#include "agent/dialect/fronts/sql/foreign_forms.hpp"
#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/statements.hpp"
#include "agent/dialect/plan/two_rounds.hpp"
#include "agent/dialect/replies/error_text.hpp"
#include "agent/dialect/replies/judge.hpp"
#include "agent/dialect/replies/raw_replies.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/json/equals_literal.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/transport/http/url_encoding.hpp"

namespace karmad {

namespace {

/// The statement with the mirror's names of the table.
std::string renamed(std::string_view statement, const Parsed& parsed,
                    std::span<const std::string> tables) {
  std::string out;
  append_edited(out, statement, name_edits(parsed, TableNames::sql), tables);
  return out;
}

/// Whether `part` is a view into `whole`.
bool holds(std::string_view whole, std::string_view part) {
  return std::less_equal<>{}(whole.data(), part.data()) &&
         std::less_equal<>{}(part.data() + part.size(), whole.data() + whole.size());
}

/// Whether the request is a change; false if it is not known.
bool is_change_request(const ClientRequest* request) {
  if (request == nullptr) return false;
  const auto statement = sql::statement_in(*request);
  return statement && statement->ticket_class() == TicketClass::update;
}

/// Reads the error and warning of an answer or a result set.
struct FailureMembers {
  std::string_view error{};
  bool warning = false;

  bool operator()(std::string_view key, std::string_view value) {
    if (key == "error" && error.empty()) error = reason_in(value);
    if (key == "warning") warning |= (is_string(value) && value.size() > 2) || is_object(value);
    return true;
  }
};

/// Whether the pages are karmad's, by `scroll = 1` or a token. One of the only shard's own tokens,
/// which it gives unasked, is for that shard.
bool scrolls_here(const sql::Select& select) {
  return !select.scroll.empty() && !is_server_token(without_quotes(select.scroll));
}

/// A CALL is planned also on a table of one shard, because the name stands in quotes, which only
/// the plan writes; so is a SHOW, whose answer may name the table.
Parsed parsed_of(const sql::Statement& read, const ClientRequest& request) {
  Parsed parsed{.planned = true};
  const auto set_table = [&parsed](const auto& statement) {
    if constexpr (requires { statement.table_place; }) {
      parsed.table = statement.table;
      parsed.table_place = statement.table_place;
    }
  };
  std::visit(set_table, read);
  if (const auto* const select = std::get_if<sql::Select>(&read)) {
    parsed.planned =
        scrolls_here(*select) || select->table.empty() || !request.inspected_by.empty();
    parsed.options = select->options;
  } else if (const auto* const change = std::get_if<sql::ChangeStatement>(&read)) {
    parsed.planned = parsed.read = false;
    parsed.last_insert_id = change->last_row_id();
  }
  return parsed;
}

/// The plan of a SELECT over several shards (see plan_select). Refuses KNN() by a document on one
/// shard, which is sent the client's statement.
OrError<Plan> plan_over_shards(const sql::Select& given, RowForm form, Collation collation,
                               const ScrollPlace& place, const ShardLayout& layout) {
  auto select = plan_select(given, form, collation, place);
  if (!select) return std::unexpected(std::move(select.error()));
  if (select->document && layout.shards == 1)
    return refused("one shard has the document: send it the statement");
  auto plan = plan_of_statement({}, form);
  plan.parser_errors_are_400 = form == RowForm::hits;
  take_select(plan, *std::move(select), given, layout);
  return plan;
}

MaybeError read_text(sql::StatementText& statement) {
  auto read = sql::read_statement(statement.text, statement.kind);
  if (!read) return std::move(read.error());
  statement.read = std::make_shared<const sql::Statement>(*std::move(read));
  return std::nullopt;
}

/// Reads another text in place of the client's.
MaybeError read_instead(sql::StatementText& statement, sql::EngineStatement other) {
  if (statement.given == nullptr)
    statement.given = std::make_shared<const sql::StatementText>(statement);
  auto owner = std::make_shared<sql::StatementList>();
  statement.text = owner->decoded = std::move(other.text);
  statement.directions = std::move(other.directions);
  statement.owner = std::move(owner);
  return read_text(statement);
}

/// Whether the table is `schema.table`: no table of the configuration has a dot in its name.
bool names_schema(const sql::Statement& read) {
  const auto* const select = std::get_if<sql::Select>(&read);
  const auto* const change = std::get_if<sql::ChangeStatement>(&read);
  const auto has_dot = [](const std::string& table) { return table.find('.') != table.npos; };
  return (select != nullptr && has_dot(select->table)) ||
         (change != nullptr && has_dot(change->table));
}

/// Reads the statement, unless it is read, without its foreign forms: then its text is another one.
MaybeError read_for_engines(sql::StatementText& statement) {
  auto refusal = statement.read == nullptr ? read_text(statement) : std::nullopt;
  if (refusal || names_schema(*statement.read))
    if (auto text = sql::without_schema(statement.text))
      refusal = read_instead(statement, {*std::move(text)});
  if (refusal) return refusal;
  auto other = sql::without_foreign_forms(statement.text, *statement.read);
  return other ? read_instead(statement, *std::move(other)) : std::nullopt;
}

/// Whether the answer is the hits of a search. Servers write these two members first.
bool begins_like_hits(std::string_view body) {
  JsonCursor json(body);
  skip_space(json);
  if (!take(json, '{')) return false;
  const auto first = take_string(json);
  return first == "took" || first == "hits";
}

/// The position of the first line that is only a brace: where the second of several sets begins.
std::size_t first_brace_line(std::string_view body) {
  for (auto feed = body.find('\n'); feed != body.npos; feed = body.find('\n', feed + 1))
    if (starts_with_literal(body.substr(feed), "\n{\n")) return feed + 1;
  return body.npos;
}

const sql::StatementText& statement_of(const Parsed& parsed) {
  return *std::get<ReadStatement>(parsed.what);
}

class ManticoreSql final : public Dialect {
 public:
  explicit ManticoreSql(const DialectSettings& settings)
      : Dialect(write_error), settings_(settings) {}

  /// Reads the statement, unless the request has it read (ClientRequest::statement).
  OrError<Parsed> parse(const ClientRequest& request) const override {
    auto statement = sql::statement_in(request);
    if (!statement) return std::unexpected(std::move(statement.error()));
    if (!statement->is_of_mirrors()) {
      auto why = sql::read_statement(statement->text, statement->kind);
      return std::unexpected(why ? bad_request("only SELECT, INSERT, REPLACE, UPDATE, DELETE, CALL "
                                               "and some of SHOW are passed to the agents")
                                 : std::move(why.error()));
    }
    if (auto refusal = read_for_engines(*statement)) return std::unexpected(*std::move(refusal));
    auto parsed = parsed_of(*statement->read, request);
    if (request.in_session) parsed.planned = true;
    parsed.should_use_primary = statement->kind == sql::StatementKind::show;
    parsed.answer = PassedAnswer::error_of_statement;
    parsed.what = std::make_shared<const sql::StatementText>(*std::move(statement));
    return parsed;
  }

  /// Also for one shard, if the answer is part of a longer one, or the statement is no SELECT.
  OrError<Plan> plan(const ClientRequest& request, const Parsed& parsed,
                     ShardLayout layout) const override {
    const auto& statement = statement_of(parsed);
    if (const auto* const show = std::get_if<sql::ShowStatement>(statement.read.get()))
      return plan_show(statement.text, *show, parsed, statement.form, layout.shards);
    if (const auto* const change = std::get_if<sql::ChangeStatement>(statement.read.get()))
      return plan_change(as_written(statement, parsed.table), *change, statement.form,
                         std::move(layout));
    if (const auto* const call = std::get_if<sql::CallStatement>(statement.read.get()))
      return plan_call(statement.text, *call, std::move(layout), statement.form);
    return plan_of_select(request, parsed, layout);
  }

  /// Puts the statement with the table renamed in the client's place: body, form or URL; at /cli
  /// and /cli_json always in the body.
  AgentRequest write(const ClientRequest& request, const Parsed& parsed,
                     std::span<const std::string> tables, std::string& buffer) const override {
    using In = sql::StatementPlace::In;
    const auto& statement = statement_of(parsed).text;
    const auto& place = statement_of(parsed).place;
    const auto& around = place.in == In::url_query ? request.query : request.body;
    // The server knows forms at /sql only. Elsewhere, and if the request was changed since the
    // statement was found, it gets the bare statement.
    if (request.path != "/sql" || !holds(around, place.encoded)) {
      buffer = renamed(statement, parsed, tables);
      const bool raw = request.path == "/sql" && statement_of(parsed).form == RowForm::raw;
      return {"POST", raw ? "/sql?mode=raw" : request.path, "text/plain", buffer};
    }

    std::string text;  // in the encoding of its place in the request
    if (place.in == In::body)
      text = renamed(statement, parsed, tables);
    else if (tables.size() == 1 && tables.front() == parsed.table &&
             statement == url_decoded(place.encoded))
      text = place.encoded;
    else
      append_url_encoded(text, renamed(statement, parsed, tables));

    Replaced replaced[] = {{place.encoded, text}};
    std::string query;
    if (place.in == In::url_query) append_replaced(query, request.query, replaced);
    const ClientRequest own{.method = request.method,
                            .path = request.path,
                            .query = query.empty() ? request.query : query,
                            .content_type = request.content_type,
                            .body = request.body};
    return write_request(own, buffer, [&] {
      if (place.in == In::body) buffer.append(text);
      if (place.in == In::body_query) append_replaced(buffer, request.body, replaced);
    });
  }

  Judgement judge(const AgentReply& reply, bool merged) const override {
    return judge_sets(reply, merged);
  }

 private:
  /// On one shard a SELECT that cannot be planned is passed on as it is. Without FROM a mirror is
  /// asked for the form that the client wants.
  OrError<Plan> plan_of_select(const ClientRequest& request, const Parsed& parsed,
                               const ShardLayout& layout) const {
    using Kept = OneShardSets::Kept;
    const auto& statement = statement_of(parsed);
    const auto form = statement.form;
    if (!request.inspected_by.empty()) {
      constexpr std::string_view kBefore = "SET profiling=1; ";
      auto plan = plan_for_one_shard({}, parsed, layout.shards, {.form = form, .kept = Kept::last});
      plan.request.body =
          plan.keep(fmt::format("{}{}; {}", kBefore, statement.text, request.inspected_by));
      for (auto& edit : std::get<TextEdits>(plan.edits)) {
        edit.begin += kBefore.size();
        edit.end += kBefore.size();
      }
      return plan;
    }
    if (parsed.table.empty()) {
      const bool hits = form == RowForm::hits;
      auto plan = plan_for_one_shard(statement.text, parsed, layout.shards,
                                     {.form = form, .kept = hits ? Kept::whole_answer : Kept::all});
      if (hits) plan.request.path = "/sql";
      return plan;
    }
    const auto& select = std::get<sql::Select>(*statement.read);
    const ScrollPlace place{parsed.table, layout.shards, settings_.scroll_key, "sql"};
    auto plan = plan_over_shards(select, form, settings_.collation, place, layout);
    if (!plan)
      plan.error().reason =
          refusal_for_client(std::move(plan.error().reason), as_written(statement, parsed.table));
    if (plan || layout.shards > 1 || scrolls_here(select)) return plan;
    return plan_for_one_shard(statement.text, parsed, layout.shards, {.form = form});
  }

  DialectSettings settings_;
};

}  // namespace

Judgement judge_sets(const AgentReply& reply, bool merged) {
  if (reply.status == 200 && reply.content_type.starts_with("text/plain") && !reply.body.empty())
    return {Outcome::answered, {}};  // the table drawn by /cli
  auto judged = judge_reply(reply);
  const bool failed = judged.outcome == Outcome::agent_error && reply.status == 500;
  if (failed && is_update_conflict(judged.message))
    return judgement(Outcome::client_mistake, judged.message);
  // As for other updates: without an error text it does not tell what was done.
  if (failed && agent_error_text(reply.body).empty() && is_change_request(reply.request))
    return judgement(Outcome::wrong_reply, judged.message);
  if (judged.outcome != Outcome::answered) return judged;
  if (!merged && reply.request != nullptr && reply.request->rows_only &&
      begins_like_hits(reply.body))
    return judgement(Outcome::wrong_reply, "the answer has hits in place of rows");
  FailureMembers failure;
  JsonCursor json(reply.body);
  skip_space(json);
  // Of two sets the merge reads the rows, and refuses what is malformed.
  const auto tail = merged ? find_tail(reply.body) : std::nullopt;
  if (tail && first_brace_line(reply.body) == tail->last_set) {
    const auto read_further = [&](std::size_t from) {
      json.at = reply.body.data() + from;
      visit_further_members(json, std::ref(failure));
    };
    read_further(tail->after_rows);
    if (tail->after_last_rows != 0)
      read_further(tail->after_last_rows);
    else
      visit_members(reply.body.substr(tail->last_set), std::ref(failure));
  } else if (!json.done() && *json.at == '[') {
    JsonElements sets(json);
    while (sets.next()) {
      const auto* const before = json.at;
      visit_members(json, std::ref(failure));
      if (json.at == before) break;  // not an object: no more members to read
    }
  } else {
    visit_members(json, std::ref(failure));
  }
  if (!failure.error.empty()) {
    const auto text = json_unescaped(failure.error);
    if (is_update_conflict(text)) return judgement(Outcome::client_mistake, text);
    return judge_error(text, reply.request);
  }
  if (failure.warning) judged.outcome = Outcome::answered_with_warning;
  return judged;
}

std::unique_ptr<Dialect> make_manticore_sql(const DialectSettings& settings) {
  return std::make_unique<ManticoreSql>(settings);
}

}  // namespace karmad
