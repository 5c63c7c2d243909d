#include "agent/dialect/manticore_sql/statements/statement_kind.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "agent/dialect/manticore_sql/sql_tokens.hpp"

namespace karmad {
namespace {

constexpr std::array<std::string_view, 4> kChanges{"insert", "replace", "update", "delete"};
/// After SHOW; of `table` and `index` only with a second word behind the table's name.
constexpr std::array<std::string_view, 6> kOfMirrors{"create",  "table",    "index",
                                                     "threads", "settings", "variables"};

bool is_any(const SqlToken& token, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return token.is_word(word); });
}

}  // namespace

StatementKind kind_of(std::string_view statement) {
  SqlTokens tokens(statement);
  auto first = tokens.next();
  // A `(` before SELECT is a form of the engine for lists of them; it is refused later.
  if (first.is_word("select")) return StatementKind::select;
  if (is_any(first, kChanges)) return StatementKind::change;
  if (first.is_word("call")) return StatementKind::call;
  const auto second = tokens.next();
  if (first.is_word("show") && is_any(second, kOfMirrors)) return StatementKind::show;
  if (first.is_word("set") && second.is_word("profiling") && statement.find(';') != statement.npos)
    return StatementKind::profile;
  return StatementKind::other;
}

SelectionClass selection_class_of(std::string_view statement) {
  switch (kind_of(statement)) {
    case StatementKind::change:
      return SelectionClass::must_use_primary;
    case StatementKind::show:
      return SelectionClass::should_use_primary;
    case StatementKind::other:
      break;
    default:
      return SelectionClass::may_use_secondary;
  }
  SqlTokens tokens(statement);
  const auto first = tokens.next();
  const bool describes = first.is_word("desc") || first.is_word("describe") ||
                         (first.is_word("show") && tokens.next().is_word("tables"));
  return describes ? SelectionClass::should_use_primary : SelectionClass::none;
}

}  // namespace karmad
