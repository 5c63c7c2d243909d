#include "agent/dialect/fronts/sql/sql_request.hpp"

#include <algorithm>

#include "agent/json/json_text.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "config/text/source_text.hpp"

namespace karmad::sql {

namespace {

/// The values of form fields named `query`, in any case and encoding, also with a zero byte behind
/// the name.
struct QueryFields {
  std::optional<std::string_view> first;  ///< still encoded
  bool several = false;
};

QueryFields query_fields(std::string_view form) {
  QueryFields found;
  while (!form.empty()) {
    const auto pair = take_until(form, '&');
    const auto sign = pair.find('=');
    // Engines written in C end a name at a zero byte.
    const auto name = url_decoded(pair.substr(0, sign));
    if (sign == pair.npos || !wire::same_word(name.substr(0, name.find('\0')), "query")) continue;
    found.several = found.several || found.first;
    if (!found.first) found.first = pair.substr(sign + 1);
  }
  return found;
}

bool is_form(const ClientRequest& request) {
  const auto begins = [&](std::string_view text) { return request.body.starts_with(text); };
  if (begins("query=") || begins("mode=raw&") || begins("raw_response=")) return true;
  return request.content_type.find("x-www-form-urlencoded") != std::string_view::npos &&
         query_fields(request.body).first.has_value();
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == text.npos;
}

/// Finds the statement; 400 if there is none, or more than one.
OrError<StatementPlace> place_of_statement(const ClientRequest& request) {
  using In = StatementPlace::In;
  StatementPlace place;
  const auto in_url = query_fields(request.query);
  QueryFields in_body;
  if (!is_blank(request.body)) {
    if (is_form(request)) {
      in_body = query_fields(request.body);
      place = {In::body_query, in_body.first.value_or(std::string_view{})};
    } else {
      place = {In::body, request.body};
    }
  } else if (in_url.first) {
    place = {In::url_query, *in_url.first};
  } else if (request.path.starts_with("/cli")) {
    place = {In::url, request.query};
  }
  // Engines differ in which one they use.
  if (in_url.several || in_body.several) return refused("several fields query; send one statement");
  if (in_url.first && !is_blank(request.body))
    return refused("a statement in the body and another in the URL; send one");
  if (is_blank(place.encoded)) return refused("there is no statement");
  return place;
}

/// The text of all statements, decoded into `list` where it is encoded.
OrError<StatementText> whole_text(const ClientRequest& request, StatementList& list) {
  const auto place = place_of_statement(request);
  if (!place) return std::unexpected(place.error());
  auto text = place->encoded;
  if (place->in != StatementPlace::In::body) text = list.decoded = url_decoded(text);
  text = without_empty_statements(text);
  if (text.empty()) return refused("there is no statement");
  return StatementText{.text = text, .form = form_of(request), .place = *place};
}

}  // namespace

TicketClass StatementText::ticket_class() const {
  using enum StatementKind;
  if (is_any_of(kind, insert, change)) return TicketClass::update;
  return is_any_of(kind, select, call, show) ? TicketClass::search : TicketClass::exempt;
}

std::string_view without_empty_statements(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\r\n;") + 1);
  if (text.find(';') == text.npos) return text;
  Tokens tokens(text);
  auto first = tokens.next();
  if (!first.is_sign(';')) return text;
  while (first.is_sign(';')) first = tokens.next();
  return text.substr(first.at);
}

std::size_t first_wrong_bytes(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto length = static_cast<unsigned char>(text[at]) < 0x80 ? 1 : utf8_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return text.npos;
}

OrError<std::vector<std::string_view>> split_statements(std::string_view text) {
  // A mirror quotes the statement in its error, which would be no JSON then and look like a fault.
  if (const auto wrong = first_wrong_bytes(text); wrong != text.npos)
    return refused("at offset {}: the statement is not valid UTF-8", wrong);
  const auto first_end = text.find(';');
  if (first_end == text.npos || text.find_first_not_of(" \t\r\n;", first_end) == text.npos)
    return std::vector{text.substr(0, first_end)};
  std::vector<std::string_view> statements;
  Tokens tokens(text);
  std::size_t begin = 0;
  bool blank = true;
  for (;;) {
    const auto token = tokens.next();
    if (auto trouble = token.trouble()) return refused(*std::move(trouble));
    const bool ends = token.kind == Token::Kind::end;
    if (!ends && !token.is_sign(';')) {
      blank = false;
      continue;
    }
    if (!blank && statements.size() == kMostStatements)
      return refused("more than {} statements in one request", kMostStatements);
    if (!blank) statements.push_back(text.substr(begin, token.at - begin));
    if (ends) return statements;
    begin = token.at + 1;
    blank = true;
  }
}

OrError<StatementText> statement_in(const ClientRequest& request) {
  if (request.statement != nullptr) return *request.statement;
  auto list = std::make_shared<StatementList>();
  auto whole = whole_text(request, *list);
  if (!whole) return whole;
  whole->kind = kind_of_statement(whole->text);
  if (!list->decoded.empty()) whole->owner = std::move(list);
  return whole;
}

OrError<std::shared_ptr<const StatementList>> read_statements(const ClientRequest& request) {
  auto list = std::make_shared<StatementList>();
  const auto whole = whole_text(request, *list);
  if (!whole) return std::unexpected(whole.error());
  const auto statements = split_statements(whole->text);
  if (!statements) return std::unexpected(statements.error());
  const auto form = whole->form;
  for (auto one : *statements) {
    one = one.substr(0, one.find_last_not_of(" \t\r\n;") + 1);
    const StatementText statement{one, kind_of_statement(one), form, whole->place};
    const bool changes = statement.ticket_class() == TicketClass::update;
    if (changes && form == RowForm::hits)  // as the search server answers it there
      list->refused = ClientError{
          501, "only SELECT queries are supported at /sql; send changes to /sql?mode=raw"};
    list->statements.push_back(statement);
  }
  if (list->statements.empty()) return refused("there is no statement");
  return list;
}

RowForm form_of(const ClientRequest& request) {
  if (request.path == "/cli") return RowForm::text;
  if (request.path != "/sql") return RowForm::raw;
  const auto asks_raw = [](std::string_view form) {
    while (!form.empty())
      if (is_any_of(take_until(form, '&'), "mode=raw", "raw_response=true")) return true;
    return false;
  };
  return asks_raw(request.query) || (is_form(request) && asks_raw(request.body)) ? RowForm::raw
                                                                                 : RowForm::hits;
}

std::vector<std::string> aliases_with_capitals(const StatementText& statement) {
  std::vector<std::string> aliases;
  const auto* const select =
      statement.read != nullptr ? std::get_if<Select>(statement.read.get()) : nullptr;
  if (select == nullptr) return aliases;
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  for (const auto item : split_list(select->items)) {
    if (item.size() < 2 || !item.back().names_table() || item.back().text.starts_with('.'))
      continue;
    const auto& before = item[item.size() - 2];
    const bool is_alias = before.names_table() || before.is_sign(')') || before.is_sign(']');
    const auto name = item.back().inner();
    if (is_alias && std::ranges::any_of(name, is_capital)) aliases.emplace_back(name);
  }
  return aliases;
}

}  // namespace karmad::sql
