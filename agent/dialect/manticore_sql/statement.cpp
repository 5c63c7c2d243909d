#include "agent/dialect/manticore_sql/statement.hpp"

#include <optional>

#include "agent/dialect/manticore_sql/sql_tokens.hpp"

namespace karmad {

namespace {

/// The value of a form's field, still encoded; nothing when the form has none.
std::optional<std::string_view> field_of(std::string_view form, std::string_view name) {
  while (!form.empty()) {
    const auto end = form.find('&');
    const auto pair = form.substr(0, end);
    form = end == form.npos ? std::string_view{} : form.substr(end + 1);
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
      return pair.substr(name.size() + 1);
  }
  return std::nullopt;
}

bool is_form(const ClientRequest& request) {
  const auto begins = [&](std::string_view text) { return request.body.starts_with(text); };
  if (begins("query=") || begins("mode=raw&") || begins("raw_response=")) return true;
  return request.content_type.find("x-www-form-urlencoded") != std::string_view::npos &&
         field_of(request.body, "query").has_value();
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == text.npos;
}

}  // namespace

std::expected<StatementPlace, ClientError> place_of_statement(const ClientRequest& request) {
  using In = StatementPlace::In;
  StatementPlace place;
  if (!is_blank(request.body)) {
    if (is_form(request))
      place = {In::body_query, field_of(request.body, "query").value_or(std::string_view{})};
    else
      place = {In::body, request.body};
  } else if (const auto field = field_of(request.query, "query")) {
    place = {In::url_query, *field};
  } else if (request.path.starts_with("/cli")) {
    place = {In::url, request.query};
  }
  if (is_blank(place.encoded)) return std::unexpected(ClientError{400, "there is no statement"});
  return place;
}

std::expected<std::string, ClientError> statement_of(const ClientRequest& request) {
  const auto place = place_of_statement(request);
  if (!place) return std::unexpected(place.error());
  if (place->in == StatementPlace::In::body) return std::string(place->encoded);
  auto statement = url_decoded(place->encoded);
  if (is_blank(statement)) return std::unexpected(ClientError{400, "there is no statement"});
  return statement;
}

bool is_select(std::string_view statement) {
  SqlTokens tokens(statement);
  return tokens.next().is_word("select");
}

bool is_select(const ClientRequest& request) {
  const auto place = place_of_statement(request);
  if (!place) return false;
  if (place->in == StatementPlace::In::body) return is_select(place->encoded);
  return is_select(url_decoded(place->encoded));
}

std::string url_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const int high = text[at] == '%' && text.size() - at > 2 ? digit_of(text[at + 1]) : -1;
    const int low = high >= 0 ? digit_of(text[at + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      at += 2;
    } else {
      out += text[at] == '+' ? ' ' : text[at];
    }
  }
  return out;
}

void append_url_encoded(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
}

}  // namespace karmad
