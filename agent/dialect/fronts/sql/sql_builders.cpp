#include "agent/dialect/fronts/sql/sql_builders.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "config/text/enum_names.hpp"
#include "config/text/source_text.hpp"

namespace karmad::sql {
namespace {

using TokenKind = Token::Kind;

/// The id in these tokens; nothing if they are no number or text that stands for one document.
std::optional<DocumentId> id_of_value(Span value) {
  if (value.size() == 1 && value[0].kind == TokenKind::word)
    return DocumentId::of_number(value[0].text);
  if (value.size() == 2 && value[0].is_sign('-') && value[1].kind == TokenKind::word &&
      value[1].at == value[0].at + 1 && !value[1].text.starts_with('-'))
    return DocumentId::of_number(std::string("-").append(value[1].text));
  if (value.size() != 1 || value[0].kind != TokenKind::quoted) return std::nullopt;
  const auto text = value[0].inner();
  if (text.find('\\') != text.npos) return std::nullopt;
  return DocumentId::of_text(text);
}

bool token_names_id(const Token& token) {
  const auto name = token.inner();
  return name.size() == 2 && (name[0] | 0x20) == 'i' && (name[1] | 0x20) == 'd';
}

constexpr auto kProcedures = enumerators<CallKind>();

/// Bounds the memory of a statement's options.
constexpr std::size_t kMostArguments = 1000;
constexpr std::size_t kLongestTable = 1024;

bool only_has(std::string_view text, std::string_view bytes) {
  return text.find_first_not_of(bytes) == text.npos;
}

}  // namespace

MaybeError ChangeBuilder::no_table_at(std::size_t at) const {
  return bad_request("{} names no table at offset {}", before_table_, at);
}

MaybeError ChangeBuilder::set_table(const Token& name) {
  if (name.inner().empty()) return no_table_at(name.at);
  out_.table = name.inner();
  out_.table_place = {name.at, name.end()};
  return std::nullopt;
}

MaybeError ChangeBuilder::after_table(const Token& token) const {
  if (token.is_sign(',')) return bad_request("several tables in a change; name one");
  if (token.is_sign(':'))
    return bad_request("a table with a cluster's name before it; name the table only");
  return std::nullopt;
}

void ChangeBuilder::begin_columns(const Token& bracket) {
  columns_at_ = bracket.at + 1;
  id_column_.reset();
}

MaybeError ChangeBuilder::add_column(const Token& name) {
  if (token_names_id(name)) {
    if (id_column_) return bad_request("the column id twice, at offset {}", name.at);
    id_column_ = columns_;
  }
  ++columns_;
  return std::nullopt;
}

void ChangeBuilder::end_columns() {
  if (!id_column_) out_.columns_begin = columns_at_;
}

void ChangeBuilder::begin_row(const Token& bracket) {
  out_.rows.push_back({.begin = bracket.at});
  column_ = 0;
  id_value_.clear();
}

void ChangeBuilder::add_value(const Token& token, bool nested) {
  if (token.is_sign(',') && !nested)
    ++column_;
  else if (id_column_ && column_ == *id_column_ && id_value_.size() < 3)
    id_value_.push_back(token);
}

void ChangeBuilder::end_row(const Token& bracket) {
  auto& row = out_.rows.back();
  row.end = bracket.end();
  row.id_place = {row.begin + 1, row.begin + 1};
  if (id_column_) row.id = id_of_value(id_value_);
  if (row.id)
    row.id_place = {id_value_.front().at, id_value_.back().end()};
  else if (id_column_ && out_.trouble.empty())
    out_.trouble = fmt::format(
        "no id that can be read in the row at offset {}; give the column id a whole number or a "
        "text, or leave the column out",
        row.begin);
}

void ChangeBuilder::set_other_form(std::string why) {
  out_.rows.clear();
  out_.trouble = std::move(why);
}

MaybeError ChangeBuilder::look_at(const Token& token) {
  if (out_.makes_documents() || token.kind == TokenKind::end || token.is_sign(';'))
    return std::nullopt;
  if (token.is_word("join")) return bad_request("JOIN is not supported");
  if (token.is_word("option") && where_.size() < kFewTokens) in_where_ = false;
  if (in_where_ && where_.size() < kFewTokens) where_.push_back(token);
  if (token.is_word("where")) {
    in_where_ = true;
    where_.clear();
  }
  return std::nullopt;
}

/// The id of UPDATE and DELETE is known if WHERE is `id = N`.
ChangeStatement ChangeBuilder::finish() {
  if (where_.size() >= 3 && where_.size() < kFewTokens && where_[0].names_table() &&
      token_names_id(where_[0]) && where_[1].is_sign('='))
    out_.id = id_of_value(std::span(where_).subspan(2));
  return std::move(out_);
}

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
  return bad_request("CALL with more than {} arguments", kMostArguments);
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
  return bad_request("CALL: no option {} (at offset {}); the table of CALL {} is argument {}",
                     name.text, name.at, kProcedures[out_.kind], place_of_table() + 1);
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
  return bad_request(
      "CALL AUTOCOMPLETE: write each argument as 'text' and each option as number AS name or "
      "'text' AS name, without double quotes, comments and backslashes other than \\' in the first "
      "text (see offset {})",
      wrong);
}

MaybeError CallBuilder::find_table() {
  const auto place = place_of_table();
  const auto procedure = kProcedures[out_.kind];
  if (place >= arguments_.size() || !arguments_[place].name.empty())
    return bad_request("CALL {} needs the name of a table as argument {}", procedure, place + 1);
  const auto& argument = arguments_[place];
  const auto& text = argument.first.text;
  const bool names = argument.single && argument.first.kind == Token::Kind::quoted &&
                     text.size() > 2 && text.size() <= kLongestTable &&
                     text.find('\\') == text.npos;
  if (!names)
    return bad_request("CALL {}: the table at offset {} must be a name in quotes", procedure,
                       argument.first.at);
  out_.table = argument.first.inner();
  if (out_.table.find(',') != std::string::npos)
    return bad_request("CALL {}: '{}' names several tables; ask one", procedure, out_.table);
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
