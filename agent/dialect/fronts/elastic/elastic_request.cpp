#include "agent/dialect/fronts/elastic/elastic_request.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/transport/http/url_encoding.hpp"

namespace karmad {

namespace {

/// Takes what precedes the next `end` off `rest`, and that byte.
std::string_view take_until(std::string_view& rest, char end) {
  const auto part = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

std::optional<std::string> whole_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 9;
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  if (text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
  return std::string(text);
}

std::string query_string(std::string_view text) {
  std::string json;
  {
    JsonLine line(json);
    line.add(R"({"query_string":)");
    line.add_quoted(text);
    line.add('}');
  }
  return json;
}

/// `price:desc,id` as `[{"price":"desc"},"id"]`; a name without an order stays one.
std::optional<std::string> sort_keys(std::string_view keys) {
  std::string json;
  {
    JsonLine line(json);
    line.add('[');
    for (bool first = true; !keys.empty(); first = false) {
      auto key = take_until(keys, ',');
      const auto name = take_until(key, ':');
      if (name.empty() || (!key.empty() && key != "asc" && key != "desc")) return std::nullopt;
      if (!first) line.add(',');
      if (!key.empty()) line.add('{');
      line.add_quoted(name);
      if (key.empty()) continue;
      line.add(':');
      line.add_quoted(key);
      line.add('}');
    }
    line.add(']');
  }
  return json;
}

std::optional<std::string> source_names(std::string_view names) {
  if (names.empty() || names == "true" || names == "false") return std::nullopt;
  std::string json;
  {
    JsonLine line(json);
    line.add('[');
    for (bool first = true; !names.empty(); first = false) {
      if (!first) line.add(',');
      line.add_quoted(take_until(names, ','));
    }
    line.add(']');
  }
  return json;
}

/// The member that a parameter gives; nothing for a parameter without an effect.
std::optional<std::pair<UrlMember, bool>> url_member(std::string_view key, std::string_view text) {
  std::optional<std::string> value;
  UrlMember member;
  if (key == "q") {
    member = {"query", {}, {}};
    value = query_string(text);
  } else if (key == "size") {
    member = {"limit", "size", {}};
    value = whole_number(text);
  } else if (key == "from") {
    member = {"offset", "from", {}};
    value = whole_number(text);
  } else if (key == "sort") {
    member = {"sort", {}, {}};
    value = sort_keys(text);
  } else if (key == "_source") {
    member = {"_source", {}, {}};
    value = source_names(text);
  } else {
    return std::nullopt;
  }
  member.value = value.value_or("");
  return std::pair{std::move(member), value.has_value()};
}

}  // namespace

std::expected<std::vector<UrlMember>, ClientError> read_url_search(std::string_view parameters) {
  const auto refuse = [](std::string reason) {
    return std::unexpected(ClientError{400, std::move(reason)});
  };
  std::vector<UrlMember> members;
  while (!parameters.empty()) {
    auto parameter = take_until(parameters, '&');
    const auto key = url_decoded(take_until(parameter, '='));
    const auto text = url_decoded(parameter);
    if (key == "scroll")
      return refuse(
          "the parameter 'scroll' is not supported; page with \"options\": {\"scroll\": true} in "
          "the body of /search");
    auto found = url_member(key, text);
    if (!found) continue;
    if (!found->second)
      return refuse(fmt::format(
          "the parameter '{}={}' cannot be read; expected were q=text, size=10, from=20, "
          "sort=price:desc,id or _source=title,price",
          key, text.substr(0, 100)));
    if (std::ranges::find(members, found->first.name, &UrlMember::name) != members.end())
      return refuse(fmt::format("the parameter '{}' is given twice", key));
    members.push_back(std::move(found->first));
  }
  return members;
}

namespace {

using Translated = std::expected<ElasticRequest, ClientError>;

std::unexpected<ClientError> elastic_mistake(std::string reason) {
  return std::unexpected(ClientError{400, std::move(reason)});
}

/// The path after the table, or the whole path if it names none: `/_search`.
std::string_view action_path(const ClientRequest& request) {
  if (request.path_table_raw.empty()) return request.path;
  return request.path.substr(request.path_table_raw.size() + 1);
}

/// The JSON object that the body is; `{}` for an empty body. Nothing: the body is something else.
std::optional<std::string_view> elastic_object(std::string_view body) {
  if (body.find_first_not_of(kJsonSpace) == body.npos) return "{}";
  return whole_object(body);
}

bool has_members(std::string_view object) {
  return PassedMembers(object).next().has_value();
}

void add_path_table(JsonLine& body, const ClientRequest& request) {
  body.add(R"({"table":)");
  body.add_quoted(request.path_table);
}

/// Writes the search in `object`, of the path's table if it names one. Members of the URL take the
/// place of the body's. A count reads only the query.
void write_search(JsonLine body, const ClientRequest& request, std::string_view object,
                  std::span<const UrlMember> of_url, bool count) {
  std::string_view separator = "{";
  const auto add = [&](std::string_view name, std::string_view value) {
    body.add(std::exchange(separator, ","));
    body.add('"');
    body.add(name);
    body.add("\":");
    body.add(value);
  };
  const auto is_read = [count](std::string_view name) {
    return !count || name == "query" || name == "table" || name == "index";
  };
  if (!request.path_table.empty()) {
    add_path_table(body, request);
    separator = ",";
  }
  PassedMembers members(object);
  while (const auto member = members.next()) {
    const auto replaces = [&](const UrlMember& each) {
      return each.name == member->name || each.alias == member->name;
    };
    if (is_read(member->name) && std::ranges::none_of(of_url, replaces))
      add(member->name, member->value);
  }
  for (const auto& each : of_url)
    if (is_read(each.name)) add(each.name, each.value);
  if (count) add("limit", "0");
  body.add(separator == "{" ? "{}" : "}");
}

Translated translate_search(const ClientRequest& request, bool count) {
  const auto of_url = read_url_search(request.query);
  if (!of_url) return std::unexpected(of_url.error());
  const auto found = elastic_object(request.body);
  if (!found) return elastic_mistake("the body is not a JSON object");
  const auto object = *found;
  const bool in_path = !request.path_table.empty();
  if (in_path && !(last_member(object, "table").empty() && last_member(object, "index").empty()))
    return elastic_mistake("the path names the table; leave out \"table\" and \"index\"");
  ElasticRequest translated{count ? ElasticKind::count : ElasticKind::search, "/search", {}};
  if (!count && !in_path && of_url->empty())
    translated.body = object;
  else
    write_search(JsonLine(translated.body), request, object, *of_url, count);
  return translated;
}

bool is_elastic_id(std::string_view id) {
  return !id.empty() && id.size() <= 20 &&
         std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; });
}

void write_update(JsonLine body, const ClientRequest& request, std::string_view id,
                  std::string_view document) {
  add_path_table(body, request);
  if (!id.empty()) {
    body.add(R"(,"id":)");
    body.add(id);
  }
  if (!document.empty()) {
    body.add(R"(,"doc":)");
    body.add(document);
  }
  body.add('}');
}

/// Builds `{"table":…,"id":…,"doc":…}`. An empty id or document is left out.
std::string elastic_update_body(const ClientRequest& request, std::string_view id,
                                std::string_view document) {
  std::string text;
  write_update(JsonLine(text), request, id, document);
  return text;
}

/// The changed values of a partial replacement: those in `doc`, or without it the whole body.
std::string_view patched_document(std::string_view object) {
  const auto document = last_member(object, "doc");
  return is_object(document) ? document : object;
}

Translated translate_update(const ClientRequest& request, std::string_view action,
                            std::string_view id) {
  if (!id.empty() && !is_elastic_id(id))
    return elastic_mistake(fmt::format("the id in the path must be a number: '{}'", id));
  if (!id.empty()) id.remove_prefix(std::min(id.find_first_not_of('0'), id.size() - 1));
  if (request.method == "DELETE")
    return ElasticRequest{ElasticKind::update, "/delete", elastic_update_body(request, id, {})};
  const auto object = elastic_object(request.body);
  if (!object) return elastic_mistake("the body must be a JSON object with the document");
  if (!has_members(*object)) return elastic_mistake("the document in the body is empty");
  auto document = *object;
  if (action == "_update") {
    document = patched_document(document);
    return ElasticRequest{ElasticKind::update, "/update",
                          elastic_update_body(request, id, document)};
  }
  const bool replaces = action == "_doc" && !id.empty();
  return ElasticRequest{ElasticKind::update, replaces ? "/replace" : "/insert",
                        elastic_update_body(request, id, document)};
}

}  // namespace

Translated translate_elastic(const ClientRequest& request) {
  auto path = action_path(request);
  path.remove_prefix(std::min<std::size_t>(1, path.size()));
  const auto action = path.substr(0, path.find('/'));
  const auto id = path.substr(std::min(action.size() + 1, path.size()));
  if (action == "_search" || action == "_count")
    return translate_search(request, action == "_count");
  return translate_update(request, action, id);
}

bool is_partial_replacement(const ClientRequest& request) {
  return action_path(request).starts_with("/_update/");
}

void append_partial_replacement(std::string& out, const ClientRequest& request) {
  const auto object = elastic_object(request.body);
  if (!object) return;
  out.append(R"({"doc":)").append(patched_document(*object)).append("}");
}

}  // namespace karmad
