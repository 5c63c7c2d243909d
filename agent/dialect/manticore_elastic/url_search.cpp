#include "agent/dialect/manticore_elastic/url_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

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

}  // namespace karmad
