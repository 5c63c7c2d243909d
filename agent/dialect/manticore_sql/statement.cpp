#include "agent/dialect/manticore_sql/statement.hpp"

#include <optional>

#include "agent/dialect/manticore_sql/statements/statement_list.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/http/url_encoding.hpp"

namespace karmad {

namespace {

constexpr std::string_view kQuery = "query";

/// The values of form fields named `query`, in any case and encoding, also with a zero byte behind
/// the name.
struct QueryFields {
  std::optional<std::string_view> first;  ///< still encoded
  bool several = false;
};

QueryFields query_fields(std::string_view form) {
  QueryFields found;
  while (!form.empty()) {
    const auto end = form.find('&');
    const auto pair = form.substr(0, end);
    form = end == form.npos ? std::string_view{} : form.substr(end + 1);
    const auto sign = pair.find('=');
    // Engines written in C end a name at a zero byte.
    const auto name = url_decoded(pair.substr(0, sign));
    if (sign == pair.npos || !wire::same_word(name.substr(0, name.find('\0')), kQuery)) continue;
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

}  // namespace

std::expected<StatementPlace, ClientError> place_of_statement(const ClientRequest& request) {
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
  if (in_url.several || in_body.several)
    return std::unexpected(ClientError{400, "several fields query; send one statement"});
  if (in_url.first && !is_blank(request.body))
    return std::unexpected(
        ClientError{400, "a statement in the body and another in the URL; send one"});
  if (is_blank(place.encoded)) return std::unexpected(ClientError{400, "there is no statement"});
  return place;
}

std::expected<std::string, ClientError> statement_of(const ClientRequest& request) {
  const auto place = place_of_statement(request);
  if (!place) return std::unexpected(place.error());
  auto text = place->in == StatementPlace::In::body ? std::string(place->encoded)
                                                    : url_decoded(place->encoded);
  const auto statement = without_empty_statements(text);
  if (statement.empty()) return std::unexpected(ClientError{400, "there is no statement"});
  return statement.size() == text.size() ? std::move(text) : std::string(statement);
}

RowForm form_of(const ClientRequest& request) {
  if (request.path == "/cli") return RowForm::text;
  if (request.path != "/sql") return RowForm::raw;
  const auto asks_raw = [](std::string_view form) {
    for (const std::string_view field : {"mode=raw", "raw_response=true"})
      for (auto at = form.find(field); at != form.npos; at = form.find(field, at + 1)) {
        const auto end = at + field.size();
        if ((at == 0 || form[at - 1] == '&') && (end == form.size() || form[end] == '&'))
          return true;
      }
    return false;
  };
  return asks_raw(request.query) || (is_form(request) && asks_raw(request.body)) ? RowForm::raw
                                                                                 : RowForm::hits;
}

}  // namespace karmad
