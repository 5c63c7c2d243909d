#include "agent/dialect/kinds/dialect_kind.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "agent/dialect/plan/plan.hpp"
#include "agent/dialect/replies/error_text.hpp"
#include "agent/dialect/replies/judge.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "config/check.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

bool is_in_name(char c) {
  constexpr std::string_view kOthers = "_-.,*";
  return is_letter(c) || is_digit(c) || kOthers.find(c) != kOthers.npos;
}

bool covers(std::string_view pattern, std::string_view known) {
  while (!pattern.empty() && !known.empty()) {
    auto segment = take_segment(pattern);
    const auto wanted = take_segment(known);
    const bool any = wanted.starts_with('{');
    if (segment.ends_with('*')) {
      segment.remove_suffix(1);
      return any ? !segment.starts_with('_') : wanted.starts_with(segment);
    }
    if (any ? segment.starts_with('_') : segment != wanted) return false;
  }
  return known.empty();
}

/// What the engine calls an error of that status.
std::string_view elastic_error_type(int status) {
  if (status == 400) return "parse_exception";
  if (status == 404) return "index_not_found_exception";
  return status == 409 ? "action_request_validation_exception" : "Error";
}

/// A list of names: `a`, `a and b`, `a, b and c`.
std::string names_of(Dialects kinds, std::string_view last) {
  std::string names;
  for (const auto* kind : kinds) {
    if (kind != kinds.front()) names += kind == kinds.back() ? last : ", ";
    names += kind->name;
  }
  return names;
}

class Judge {
 public:
  Judge(Dialects known, Problems& problems, Problems& notices)
      : known_(known), problems_(problems), notices_(notices) {}

  void judge(const TableSettings& table) {
    const auto* kind = find_dialect(known_, table.dialect.value);
    const bool one_shard = kind != nullptr && kind->capabilities.one_shard;
    if (one_shard && table.shards.size() > 1)
      problem(table.shards[1].at, "dialect = {} cannot merge: table {} must have one shard, not {}",
              kind->name, in_quotes(table.name), table.shards.size());
    if (one_shard && table.updates.value == Updates::all)
      problem(table.updates.at,
              "updates = all: the answers of several mirrors are not merged with dialect = {}; use "
              "primary or any",
              kind->name);
    if (kind != nullptr && !kind->capabilities.passes_fields && table.upgrades.value)
      needs_dialect(names_if([](const auto& each) { return each.capabilities.passes_fields; }),
                    "upgrades", table.upgrades.at, table);
    const bool has_route = table.route.at.line != 0 || !table.route.value.empty();
    if (kind != nullptr && !kind->is_routed()) return judge_unrouted(table, has_route);
    if (has_route)
      judge_path("route", table.route.value, table.route.at);
    else if (kind != nullptr)
      problem(table.at, "table {} needs a route = /prefix, as its dialect is {}",
              in_quotes(table.name), kind->name);
    if (table.path) judge_path("path", table.path->value, table.path->at);
    for (const auto& read : table.reads) judge_reads(read, table);
    if (!table.route.value.empty()) judge_whether_taken(table);
  }

 private:
  /// Names the table: the key may be inherited from one with another dialect.
  void needs_dialect(const std::string& dialects, std::string_view key, const Place& at,
                     const TableSettings& table) {
    problem(at, "{} needs dialect = {}, and table {} has dialect = {}", key, dialects,
            in_quotes(table.name), table.dialect.value);
  }

  void judge_unrouted(const TableSettings& table, bool has_route) {
    if (has_route) needs_dialect(routed(), "route", table.route.at, table);
    if (!table.reads.empty()) needs_dialect(routed(), "reads", table.reads_at, table);
    if (table.methods.value == Methods::any)
      needs_dialect(routed(), "methods", table.methods.at, table);
    if (table.path && !has_route)
      notices_.push_back(
          {table.path->at, fmt::format("path is ignored: only dialect = {} uses it", routed())});
  }

  /// Reports patterns that no path of the table's route can match.
  void judge_reads(const std::string& pattern, const TableSettings& table) {
    if (!judge_path("reads", pattern, table.reads_at)) return;
    const auto star = pattern.find('*');
    if (star != std::string::npos && star + 1 != pattern.size())
      return problem(table.reads_at,
                     "reads: {} matches nothing: '*' may only be the last character, as in {}",
                     in_quotes(pattern), in_quotes(pattern.substr(0, star + 1)));
    const auto begins = std::string_view(pattern).substr(0, star);
    const std::string_view route = table.route.value;
    const bool covers = star != std::string::npos && route.starts_with(begins);
    if (!route_covers(route, begins) && !covers && is_path(route))
      problem(table.reads_at,
              "reads: {} matches nothing: the table gets only paths below its route {}",
              in_quotes(pattern), in_quotes(route));
    else
      judge_updates(pattern, table);
  }

  /// Warns of a pattern that makes updates reads, which are sent again after a broken connection.
  void judge_updates(const std::string& pattern, const TableSettings& table) {
    std::string path;
    if (table.path && route_covers(table.route.value, pattern))
      append_moved(path, pattern, table.route.value, table.path->value);
    else
      path = pattern;
    if (const auto update = update_path_in(path); !update.empty())
      notices_.push_back(
          {table.reads_at,
           fmt::format("reads: {} covers updates such as POST {}, which are then sent again after "
                       "a broken connection; name only paths that read",
                       in_quotes(pattern), update),
           Problem::Severity::warning});
  }

  bool judge_path(std::string_view key, const std::string& path, const Place& at) {
    if (is_path(path)) return true;
    problem(at, "{} is not a path that begins with '/': {}", key, in_quotes(path));
    return false;
  }

  void judge_whether_taken(const TableSettings& table) {
    const auto& route = table.route;
    auto prefix = route.value;
    while (prefix.size() > 1 && prefix.ends_with('/')) prefix.pop_back();
    const auto [old, is_new] = taken_.emplace(prefix, &table);
    // That a table is defined twice was reported.
    if (is_new || lower(old->second->name) == lower(table.name)) return;
    const auto& taken_at = old->second->route.at;
    const bool is_inherited = route.at == taken_at;
    problem(is_inherited ? table.at : route.at, "the route {} is already used in {}",
            in_quotes(route.value), text(taken_at));
  }

  /// Names of the dialects whose tables have a route.
  std::string routed() const {
    return names_if([](const DialectKind& kind) { return kind.is_routed(); });
  }
  template <class Wanted>
  std::string names_if(Wanted wanted) const {
    std::vector<const DialectKind*> kinds(known_.begin(), known_.end());
    std::erase_if(kinds, [&](const auto* kind) { return !wanted(*kind); });
    return names_of(kinds, " or ");
  }

  template <class... Args>
  void problem(const Place& at, fmt::format_string<Args...> message, Args&&... args) {
    problems_.push_back({at, fmt::format(message, std::forward<Args>(args)...)});
  }

  const Dialects known_;
  Problems& problems_;
  Problems& notices_;
  std::map<std::string, const TableSettings*> taken_;  ///< routes, and their tables
};

}  // namespace

std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(1);  // the slash
  const auto segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

bool matches_pattern(std::string_view pattern, std::string_view path) {
  // Most paths are told from most patterns by the last byte.
  if (!pattern.empty() && pattern.back() != '}' && !path.ends_with(pattern.back())) return false;
  while (pattern.starts_with('/') && path.starts_with('/')) {
    const auto expected = take_segment(pattern);
    const auto segment = take_segment(path);
    const bool any = expected.starts_with('{');
    if (any ? segment.empty() : segment != expected) return false;
  }
  return pattern.empty() && path.empty();
}

std::string_view pattern_segment(std::string_view pattern, std::string_view path,
                                 std::string_view segment) {
  while (!pattern.empty() && !path.empty()) {
    const bool here = take_segment(pattern) == segment;
    const auto found = take_segment(path);
    if (here) return found;
  }
  return {};
}

std::optional<std::string> decoded_tables(std::string_view segment) {
  // What cannot be decoded stays, and is in no name.
  auto names = url_decoded(segment.substr(0, kMaxTableSegment + 1));
  if (segment.empty() || segment.size() > kMaxTableSegment ||
      !std::ranges::all_of(names, is_in_name))
    return std::nullopt;
  return names;
}

std::string_view update_path_in(std::string_view pattern) {
  const auto found = std::ranges::find_if(
      kUpdatePaths, [pattern](std::string_view known) { return covers(pattern, known); });
  return found == kUpdatePaths.end() ? std::string_view() : *found;
}

void write_error(int, std::string_view reason, std::string& out) {
  append_error_body(out, reason);
}

void write_error_with_status(int status, std::string_view reason, std::string& out) {
  append_error_body(out, reason);
  out.pop_back();
  fmt::format_to(std::back_inserter(out), R"(,"status":{}}})", status);
}

void write_elastic_error(int status, std::string_view reason, std::string& out) {
  JsonLine line(out);
  line.add(R"({"error":{"type":)", Quoted(elastic_error_type(status)), R"(,"reason":)",
           Quoted(reason), R"(},"status":)", status, '}');
}

ClientStatement as_written(const sql::StatementText& statement, std::string_view table) {
  return {.written = statement.given ? statement.given->text : statement.text,
          .read = statement.text,
          .table = table,
          .directions = statement.directions};
}

/// An error about a statement, in the words of the client's own statement.
std::optional<std::string> error_for_client(const Parsed& parsed, std::string_view body) {
  const auto error = agent_error_text(body);
  const auto& statement = *std::get<ReadStatement>(parsed.what);
  const auto text = error_for_client(error, as_written(statement, parsed.table));
  if (text == error) return std::nullopt;
  std::string out;
  append_error_body(out, text);
  return out;
}

std::optional<std::string> body_for_client(const Parsed& parsed, int status, std::string_view body,
                                           std::size_t shards) {
  const bool unchanged = parsed.answer == PassedAnswer::unchanged;
  if (unchanged && shards == 1) return std::nullopt;
  if (parsed.answer == PassedAnswer::with_table) return with_table(body, parsed.table);
  if (parsed.answer == PassedAnswer::error_of_statement)
    return status < 400 ? std::nullopt : error_for_client(parsed, body);
  const auto error = agent_error_text(body);
  if (status < 400 || error.empty()) return std::nullopt;
  const auto named = with_table_of_client(error, parsed.table);
  const bool is_text = is_string(last_member(whole_object(body).value_or(""), "error"));
  if (unchanged && (named == error || !is_text)) return std::nullopt;
  std::string out;
  if (unchanged)
    append_error_body(out, named);
  else
    write_elastic_error(status, named, out);
  return out;
}

OrError<Plan> Dialect::plan(const ClientRequest&, const Parsed& parsed, ShardLayout layout) const {
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

const DialectKind* dialect_of(const TableSettings& table, Dialects known, Problems& problems) {
  const auto& name = table.dialect;
  const auto* kind = find_dialect(known, name.value);
  if (kind == nullptr)
    problems.push_back({name.at, fmt::format("dialect '{}' is unknown; known are {}", name.value,
                                             names_of(known, " and "))});
  return kind;
}

void judge_dialects(const Settings& settings, Dialects known, Problems& problems,
                    Problems& notices) {
  Judge judge(known, problems, notices);
  for (const auto& table : settings.tables) judge.judge(table);
}

}  // namespace karmad
