#include <fmt/format.h>

#include <algorithm>

#include "agent/dialect/fronts/sql/sql_builders.hpp"
#include "config/text/enum_names.hpp"
#include "config/text/source_text.hpp"

namespace karmad::sql {
namespace {

constexpr auto kProcedures = enumerators<CallKind>();

/// Bounds the memory of a statement's options.
constexpr std::size_t kMostArguments = 1000;
constexpr std::size_t kLongestTable = 1024;

bool only_has(std::string_view text, std::string_view bytes) {
  return text.find_first_not_of(bytes) == text.npos;
}

}  // namespace

/// Whether the search server's helper for AUTOCOMPLETE, which searches the statement by a pattern
/// that knows no grammar, surely reads the argument as karmad does.
bool CallBuilder::is_plain(const Argument& argument, bool is_query) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyz_0123456789";
  if (!argument.single || !only_has(argument.name, kOfNames)) return false;
  if (argument.as != !argument.name.empty()) return false;
  const auto text = argument.first.text;
  if (argument.first.kind != Token::Kind::quoted) return argument.as && only_has(text, kDigits);
  for (auto at = text.find('\\'); at != text.npos; at = text.find('\\', at + 2))
    if (!is_query || text[at + 1] != '\'') return false;
  return text.front() == '\'';
}

bool CallBuilder::set_procedure(const Token& name) {
  const auto kind = kProcedures.find(lower(name.text));
  if (kind) out_.kind = *kind;
  return kind.has_value();
}

MaybeError CallBuilder::begin_argument() {
  has_list_ = false;
  if (arguments_.size() < kMostArguments) return std::nullopt;
  return bad_statement(fmt::format("CALL with more than {} arguments", kMostArguments));
}

void CallBuilder::add_argument(const Token& value) {
  arguments_.push_back(
      {.first = minus_.value_or(value), .end = value.end(), .single = !minus_.has_value()});
  minus_.reset();
}

bool CallBuilder::add_listed(const Token& token) {
  if (token.is_sign('(')) {
    if (has_list_) return false;
    has_list_ = true;
    arguments_.push_back({.first = token, .single = false});
  }
  arguments_.back().end = token.end();
  return true;
}

MaybeError CallBuilder::set_name(const Token& name, bool as) {
  auto& argument = arguments_.back();
  argument.as = as;
  argument.name = lower(name.text);
  if (argument.name != "table" && argument.name != "index") return std::nullopt;
  return bad_statement(
      fmt::format("CALL: no option {} (at offset {}); the table of CALL {} is argument {}",
                  name.text, name.at, kProcedures[out_.kind], place_of_table() + 1));
}

/// Options follow the arguments, as in the engine: another order would let it count the arguments
/// differently.
bool CallBuilder::end_unnamed() const {
  return arguments_.size() < 2 || arguments_[arguments_.size() - 2].name.empty();
}

MaybeError CallBuilder::refuse_ambiguous(std::string_view statement) const {
  auto wrong = std::min(statement.find('"'), statement.find("/*"));
  for (const auto& argument : arguments_)
    if (!is_plain(argument, &argument == &arguments_.front()))
      wrong = std::min(wrong, argument.first.at);
  if (wrong == statement.npos) return std::nullopt;
  return bad_statement(
      fmt::format("CALL AUTOCOMPLETE: write each argument as 'text' and each option as "
                  "number AS name or 'text' AS name, without double quotes, comments and "
                  "backslashes other than \\' in the first text (see offset {})",
                  wrong));
}

MaybeError CallBuilder::find_table() {
  const auto place = place_of_table();
  const auto procedure = kProcedures[out_.kind];
  if (place >= arguments_.size() || !arguments_[place].name.empty())
    return bad_statement(
        fmt::format("CALL {} needs the name of a table as argument {}", procedure, place + 1));
  const auto& argument = arguments_[place];
  const auto& text = argument.first.text;
  const bool names = argument.single && argument.first.kind == Token::Kind::quoted &&
                     text.size() > 2 && text.size() <= kLongestTable &&
                     text.find('\\') == text.npos;
  if (!names)
    return bad_statement(fmt::format("CALL {}: the table at offset {} must be a name in quotes",
                                     procedure, argument.first.at));
  out_.table = argument.first.inner();
  if (out_.table.find(',') != std::string::npos)
    return bad_statement(
        fmt::format("CALL {}: '{}' names several tables; ask one", procedure, out_.table));
  out_.table_place = {argument.first.at, argument.end};
  return std::nullopt;
}

OrError<CallStatement> CallBuilder::finish(std::string_view statement) {
  auto refusal = find_table();
  if (!refusal && out_.kind == CallKind::autocomplete) refusal = refuse_ambiguous(statement);
  if (refusal) return std::unexpected(*std::move(refusal));
  for (auto& argument : arguments_)
    if (!argument.name.empty())
      out_.options.push_back({std::move(argument.name), argument.first.at, argument.end});
  return std::move(out_);
}

const CallOption* CallStatement::option(std::string_view name) const {
  const auto found = std::ranges::find(options, name, &CallOption::name);
  return found == options.end() ? nullptr : &*found;
}

}  // namespace karmad::sql
