#include "agent/dialect/kinds/dialect_kind.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "agent/dialect/merge/change_counts.hpp"
#include "agent/dialect/plan/plan.hpp"
#include "agent/dialect/replies/error_text.hpp"
#include "agent/dialect/replies/judge.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

void write_error(int, std::string_view reason, std::string& out) {
  append_error_body(out, reason);
}

void write_error_with_status(int status, std::string_view reason, std::string& out) {
  append_error_body(out, reason);
  out.pop_back();
  fmt::format_to(std::back_inserter(out), R"(,"status":{}}})", status);
}

namespace {

/// What the engine calls an error of that status.
std::string_view elastic_error_type(int status) {
  switch (status) {
    case 400:
      return "parse_exception";
    case 404:
      return "index_not_found_exception";
    case 409:
      return "action_request_validation_exception";
    default:
      return "Error";
  }
}

}  // namespace

void write_elastic_error(int status, std::string_view reason, std::string& out) {
  JsonLine line(out);
  line.add(R"({"error":{"type":)", Quoted(elastic_error_type(status)), R"(,"reason":)",
           Quoted(reason), R"(},"status":)", status, '}');
}

/// An error about a statement, in the words of the client's own statement.
std::optional<std::string> error_for_client(const Parsed& parsed, std::string_view body) {
  const auto error = agent_error_text(body);
  const auto& statement = *std::get<ReadStatement>(parsed.what);
  const auto text =
      error_for_client(error, {.written = statement.given ? statement.given->text : statement.text,
                               .read = statement.text,
                               .table = parsed.table});
  if (text == error) return std::nullopt;
  std::string out;
  append_error_body(out, text);
  return out;
}

std::optional<std::string> body_for_client(const Parsed& parsed, int status,
                                           std::string_view body) {
  if (parsed.answer == PassedAnswer::unchanged) return std::nullopt;
  if (parsed.answer == PassedAnswer::with_table) return with_table(body, parsed.table);
  if (parsed.answer == PassedAnswer::error_of_statement)
    return status < 400 ? std::nullopt : error_for_client(parsed, body);
  const auto error = agent_error_text(body);
  if (status < 400 || error.empty()) return std::nullopt;
  std::string out;
  write_elastic_error(status, with_table_of_client(error, parsed.table), out);
  return out;
}

std::expected<Plan, ClientError> Dialect::plan(const ClientRequest&, const Parsed& parsed,
                                               ShardLayout layout) const {
  return std::unexpected(ClientError{
      501, fmt::format("table {} has {} shards, and their answers to this request cannot be merged",
                       parsed.table, layout.shards)});
}

bool route_covers(std::string_view route, std::string_view path) {
  if (!path.starts_with(route)) return false;
  return route.ends_with('/') || path.size() == route.size() || path[route.size()] == '/';
}

void append_moved(std::string& out, std::string_view path, std::string_view route,
                  std::string_view prefix) {
  // Exactly one slash between the new prefix and the rest.
  const auto rest = path.substr(std::min(route.size(), path.size()));
  out.append(prefix);
  if (out.ends_with('/') && rest.starts_with('/')) out.pop_back();
  if (!out.ends_with('/') && !rest.empty() && !rest.starts_with('/')) out.push_back('/');
  out.append(rest);
  if (out.empty()) out.push_back('/');
}

const DialectKind* find_dialect(Dialects known, std::string_view name) {
  const auto found = std::ranges::find(known, name, &DialectKind::name);
  return found == known.end() ? nullptr : *found;
}

}  // namespace karmad
