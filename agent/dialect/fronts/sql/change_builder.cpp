#include <fmt/format.h>

#include "agent/dialect/fronts/sql/sql_builders.hpp"

namespace karmad::sql {
namespace {

using TokenKind = Token::Kind;

/// The id in these tokens; nothing if they are no number or text that stands for one document.
std::optional<DocumentId> id_of_value(std::span<const Token> value) {
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

}  // namespace

MaybeError ChangeBuilder::no_table_at(std::size_t at) const {
  return bad_statement(fmt::format("{} names no table at offset {}", before_table_, at));
}

MaybeError ChangeBuilder::set_table(const Token& name) {
  if (name.inner().empty()) return no_table_at(name.at);
  out_.table = name.inner();
  out_.table_place = {name.at, name.end()};
  return std::nullopt;
}

MaybeError ChangeBuilder::after_table(const Token& token) const {
  if (token.is_sign(',')) return bad_statement("several tables in a change; name one");
  if (token.is_sign(':'))
    return bad_statement("a table with a cluster's name before it; name the table only");
  return std::nullopt;
}

void ChangeBuilder::begin_columns(const Token& bracket) {
  columns_at_ = bracket.at + 1;
  id_column_.reset();
}

MaybeError ChangeBuilder::add_column(const Token& name) {
  if (token_names_id(name)) {
    if (id_column_) return bad_statement(fmt::format("the column id twice, at offset {}", name.at));
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
  if (token.is_word("join")) return bad_statement("JOIN is not supported");
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

}  // namespace karmad::sql
