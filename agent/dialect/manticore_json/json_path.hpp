#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

/// One step into a JSON value: to a member of an object or, with `element`, of an array.
struct JsonStep {
  std::string member;
  std::optional<std::size_t> element;

  bool operator==(const JsonStep&) const = default;
};

/// Where in a JSON attribute a value stands: `meta.color`, `meta['color']`, `meta.list[2].n`.
struct JsonPath {
  std::string attribute;  ///< `meta`
  std::vector<JsonStep> steps;
};

/// Reads a name as the search server does in a sort key; nothing when it is a plain name, or no
/// path it understands.
std::optional<JsonPath> read_json_path(std::string_view name);

/// The bytes of the value where `steps` lead to from `value`; empty when there is none. Member
/// names differ by case, unlike those of attributes; of members with one name the first counts.
std::string_view value_at(std::string_view value, std::span<const JsonStep> steps);

}  // namespace karmad
