#include "agent/dialect/manticore_sql/statements/show.hpp"

#include <fmt/format.h>

#include "agent/dialect/manticore_sql/rows/merge_plain.hpp"
#include "agent/dialect/manticore_sql/sql_plan.hpp"
#include "agent/dialect/manticore_sql/sql_tokens.hpp"

namespace karmad {
namespace {

using Kind = SqlToken::Kind;

std::unexpected<ClientError> show_syntax_error(std::string reason) {
  return std::unexpected(ClientError{400, std::move(reason)});
}

constexpr std::string_view kShown =
    "SHOW CREATE TABLE t, SHOW TABLE t STATUS, SHOW TABLE t SETTINGS, SHOW THREADS, SHOW SETTINGS "
    "and SHOW VARIABLES";

/// The table at `token`, and the place that names it.
Parsed named_at(const SqlToken& token) {
  auto name = token.text;
  if (token.kind == Kind::name) name = name.substr(1, name.size() - 2);
  return {.table = std::string(name),
          .table_begin = token.at,
          .table_end = token.at + token.text.size(),
          .planned = true};
}

/// The words after SHOW that name no table.
bool is_server_wide(const SqlToken& token) {
  return token.is_word("threads") || token.is_word("settings") || token.is_word("variables");
}

}  // namespace

std::expected<Parsed, ClientError> read_show(std::string_view statement) {
  SqlTokens tokens(statement);
  tokens.next();  // SHOW
  const auto what = tokens.next();
  if (is_server_wide(what)) return Parsed{.table = {}, .planned = true};
  const bool creates = what.is_word("create");
  if (creates) {
    const auto table = tokens.next();
    if (!table.is_word("table")) return show_syntax_error(fmt::format("known are {}", kShown));
  }
  const auto table = tokens.next();
  if (!table.names_table())
    return show_syntax_error(fmt::format("expected the name of a table at offset {}", table.at));
  const auto of = tokens.next();
  if (creates) {
    if (of.kind != Kind::end && !of.is_word("option"))
      return show_syntax_error(
          fmt::format("expected OPTION or the end of the statement at offset {}", of.at));
  } else {
    if (!of.is_word("status") && !of.is_word("settings"))
      return show_syntax_error(
          fmt::format("expected STATUS or SETTINGS at offset {}; known are {}", of.at, kShown));
  }
  for (auto token = tokens.next(); token.kind != Kind::end; token = tokens.next())
    if (token.trouble() || token.is_sign(';'))
      return show_syntax_error(
          fmt::format("the statement is not understood at offset {}", token.at));
  return named_at(table);
}

Plan plan_show(std::string statement, const Parsed& parsed, RowForm form, std::size_t shards) {
  SqlTokens tokens(statement);
  tokens.next();  // SHOW
  const auto what = tokens.next();
  const bool threads = what.is_word("threads");
  const bool creates = what.is_word("create");
  bool status = false;
  if (what.is_word("table") || what.is_word("index")) {
    tokens.next();
    status = tokens.next().is_word("status");
  }
  if (!threads && !status)
    return plan_for_one_shard(std::move(statement), parsed, shards,
                              {.form = form, .table = creates ? parsed.table : std::string()});
  using Rows = PlainMerge::Rows;
  auto plan = plan_of_statement(std::move(statement), form);
  plan.edits = statement_edits(parsed);
  plan.step = PlainMerge{.rows = threads ? Rows::concatenated : Rows::added, .form = form};
  return plan;
}

Plan plan_for_one_shard(std::string statement, const Parsed& parsed, std::size_t shards,
                        OneShardSets how) {
  auto plan = plan_of_statement(std::move(statement), how.form);
  plan.edits = statement_edits(parsed);
  if (shards > 1) plan.ask_only(0, shards);
  plan.step = std::move(how);
  return plan;
}

}  // namespace karmad
