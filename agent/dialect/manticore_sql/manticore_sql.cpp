#include "agent/dialect/manticore_sql/manticore_sql.hpp"

#include <fmt/format.h>

#include "agent/dialect/manticore_json/judge.hpp"
#include "agent/dialect/manticore_json/reply.hpp"
#include "agent/dialect/manticore_sql/change/change.hpp"
#include "agent/dialect/manticore_sql/change/change_statement.hpp"
#include "agent/dialect/manticore_sql/select.hpp"
#include "agent/dialect/manticore_sql/statement.hpp"
#include "agent/dialect/manticore_update/judge_update.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"
#include "agent/transport/http/url_encoding.hpp"

namespace karmad {

namespace {

/// The statement with the mirror's names of the table.
std::string renamed(std::string_view statement, const Parsed& parsed,
                    std::span<const std::string> tables) {
  std::string out(statement.substr(0, parsed.table_begin));
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i != 0) out += ',';
    // Names that need backquotes get them.
    const bool plain =
        tables[i].find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
    out.append(plain ? "" : "`").append(tables[i]).append(plain ? "" : "`");
  }
  out += statement.substr(parsed.table_end);
  return out;
}

/// `whole` with the bytes of `part`, a view into it, replaced.
void append_replaced(std::string& out, std::string_view whole, std::string_view part,
                     std::string_view by) {
  const auto begin = static_cast<std::size_t>(part.data() - whole.data());
  out.append(whole.substr(0, begin)).append(by).append(whole.substr(begin + part.size()));
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

}  // namespace

TicketClass ManticoreSql::ticket_class(const ClientRequest& request) const {
  if (is_select(request)) return TicketClass::search;
  const auto text = statement_of(request);
  return text && is_change(*text) ? TicketClass::update : TicketClass::exempt;
}

std::expected<std::string, ClientError> ManticoreSql::statement(
    const ClientRequest& request) const {
  return statement_of(request);
}

std::expected<Parsed, ClientError> ManticoreSql::parse(const ClientRequest& request) const {
  const auto statement = statement_of(request);
  if (!statement) return std::unexpected(statement.error());
  if (is_change(*statement)) return read_change(*statement);
  auto select = read_select(*statement);
  if (!select) return std::unexpected(std::move(select.error()));
  return Parsed{.table = std::move(select->table),
                .table_begin = select->table_begin,
                .table_end = select->table_end,
                .read = true,
                .options = select->options};
}

std::expected<std::unique_ptr<FanOut>, ClientError> ManticoreSql::fan_out(
    const ClientRequest& request, const Parsed& parsed, ShardLayout layout) const {
  if (const auto text = statement_of(request); text && is_change(*text))
    return plan_change(*text, parsed, request.path == "/cli" ? ChangeForm::text : ChangeForm::raw,
                       layout);
  return std::unexpected(
      ClientError{501, fmt::format("SELECT over the {} shards of table {} is not supported; "
                                   "POST the query to /search, whose answers are merged",
                                   layout.shards, parsed.table)});
}

AgentRequest ManticoreSql::write(const ClientRequest& request, const Parsed& parsed, PlanPart part,
                                 std::span<const std::string> tables, std::string& buffer) const {
  using In = StatementPlace::In;
  buffer.clear();
  AgentRequest written{request.method, request.path, request.content_type, request.body};
  const auto place = place_of_statement(request);
  const bool in_url = place && (place->in == In::url || place->in == In::url_query);

  std::string statement;  // in the encoding of its place in the request
  if (place && part.plan != nullptr) {
    std::string plain;
    part.plan->write(part.shard, tables, plain);
    if (place->in == In::body) {
      statement = std::move(plain);
    } else {
      append_url_encoded(statement, plain);
    }
  } else if (place && tables.size() == 1 && tables.front() == parsed.table) {
    statement = place->encoded;
  } else if (place && place->in == In::body) {
    statement = renamed(place->encoded, parsed, tables);
  } else if (place) {
    append_url_encoded(statement, renamed(url_decoded(place->encoded), parsed, tables));
  }

  if (!request.query.empty()) {
    buffer.append(request.path).append("?");
    if (in_url)
      append_replaced(buffer, request.query, place->encoded, statement);
    else
      buffer.append(request.query);
  }
  const auto target_size = buffer.size();
  if (place && !in_url) append_replaced(buffer, request.body, place->encoded, statement);
  const std::string_view all(buffer);
  if (target_size != 0) written.target = all.substr(0, target_size);
  if (place && !in_url) written.body = all.substr(target_size);
  return written;
}

Judgement ManticoreSql::judge(const AgentReply& reply, bool) const {
  if (reply.status == 200 && reply.content_type.starts_with("text/plain") && !reply.body.empty())
    return {Outcome::answered, {}};  // the table drawn by /cli
  auto judged = judge_reply(reply);
  if (judged.outcome != Outcome::answered) return judged;
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
