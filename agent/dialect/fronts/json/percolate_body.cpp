#include "agent/dialect/fronts/json/percolate_body.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/request/search_request.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// The deepest nesting of a valid JSON text.
unsigned nesting_of(std::string_view text) {
  unsigned depth = 0;
  unsigned deepest = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string && c == '\\') ++at;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return deepest;
}

}  // namespace

std::string mistake_in_percolate_body(std::string_view body, unsigned max_depth) {
  JsonCursor json(body);
  skip_space(json);
  if (json.done() || *json.at != '{') return "the request must be a JSON object";
  std::string named;
  int queries = 0;
  const bool whole = visit_members(json, [&](std::string_view key, std::string_view) {
    const auto name = json_unescaped(key);
    if (name == "query") ++queries;
    const bool table = name == "table" || name == "index" || name == "join" || may_name_table(name);
    if (table && named.empty()) named = name;
    return true;
  });
  const auto end = static_cast<std::size_t>(json.at - body.data());
  skip_space(json);
  if (!whole || !json.done())
    return fmt::format("the request is not JSON: it is malformed at about offset {}", end);
  if (nesting_of(body) > max_depth)
    return fmt::format("the request nests deeper than max_json_depth = {}", max_depth);
  if (queries > 1) return "the request gives \"query\" twice";
  if (!named.empty())
    return fmt::format("the table is named in the path; leave \"{}\" out of the request", named);
  return {};
}

}  // namespace karmad
