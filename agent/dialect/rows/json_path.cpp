#include "agent/dialect/rows/json_path.hpp"

#include <algorithm>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"
#include "config/text/number_in.hpp"
#include "config/text/wildcard.hpp"

namespace karmad {

namespace {

/// Removes the step at the front of `rest`: `.name`, `['name']`, `["name"]` or `[number]`.
std::optional<JsonStep> take_step(std::string_view& rest) {
  if (rest.front() == '.') {
    const auto end = std::min(rest.find_first_of(".[", 1), rest.size());
    JsonStep step{.member = std::string(rest.substr(1, end - 1)), .element = {}};
    rest.remove_prefix(end);
    if (step.member.empty()) return std::nullopt;
    return step;
  }
  if (rest.size() < 3) return std::nullopt;
  if (const char quote = rest[1]; quote == '\'' || quote == '"') {
    const auto end = rest.find(quote, 2);
    if (end == rest.npos || end == 2 || !rest.substr(end + 1).starts_with(']')) return std::nullopt;
    JsonStep step{.member = std::string(rest.substr(2, end - 2)), .element = {}};
    rest.remove_prefix(end + 2);
    return step;
  }
  const auto end = rest.find(']');
  if (end == rest.npos) return std::nullopt;
  const auto element = number_in<std::size_t>(rest.substr(1, end - 1));
  if (!element) return std::nullopt;
  rest.remove_prefix(end + 1);
  return JsonStep{.member = {}, .element = element};
}

std::string_view path_member(std::string_view object, std::string_view wanted) {
  std::string_view found;
  visit_members(object, [&](std::string_view name, std::string_view value) {
    if (json_says(name, wanted)) found = value;
    return found.empty();
  });
  return found;
}

std::string_view element_of(std::string_view array, std::size_t wanted) {
  std::string_view found;
  visit_elements(array, [&](std::string_view value) {
    if (wanted-- == 0) found = value;
    return found.empty();
  });
  return found;
}

}  // namespace

std::optional<JsonPath> read_json_path(std::string_view name) {
  const auto begin = name.find_first_of(".[");
  if (begin == name.npos || begin == 0) return std::nullopt;
  JsonPath path{.attribute = std::string(name.substr(0, begin)), .steps = {}};
  for (auto rest = name.substr(begin); !rest.empty();) {
    if (rest.front() != '.' && rest.front() != '[') return std::nullopt;
    auto step = take_step(rest);
    if (!step) return std::nullopt;
    path.steps.push_back(*std::move(step));
  }
  return path;
}

std::string_view value_at(std::string_view value, std::span<const JsonStep> steps) {
  for (const auto& step : steps) {
    if (step.element)
      value = is_array(value) ? element_of(value, *step.element) : std::string_view();
    else
      value = is_object(value) ? path_member(value, step.member) : std::string_view();
    if (value.empty()) break;
  }
  return value;
}

bool source_matches(std::string_view pattern, std::string_view member) {
  return matches_wildcard(member, pattern, '*', [](std::string_view rest, char c) {
    return rest[0] == '?' || rest[0] == c ? 1U : 0U;
  });
}

}  // namespace karmad
