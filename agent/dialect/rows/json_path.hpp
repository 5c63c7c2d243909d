#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

/// One step into a JSON value: to a member of an object or, if `element` is set, of an array.
struct JsonStep {
  std::string member;
  std::optional<std::size_t> element;

  bool operator==(const JsonStep&) const = default;
};

/// The place of a value in a JSON attribute: `meta.color`, `meta['color']`, `meta.list[2].n`.
struct JsonPath {
  std::string attribute;  ///< `meta`
  std::vector<JsonStep> steps;
};

/// Reads a name as the search server reads a sort key; nothing if it is a plain name, or a path the
/// server does not understand.
std::optional<JsonPath> read_json_path(std::string_view name);

/// The bytes of the value that `steps` reach from `value`; empty if there is none. Member names are
/// case-sensitive, attribute names are not; of members with the same name the first counts.
std::string_view value_at(std::string_view value, std::span<const JsonStep> steps);

/// `*` matches any characters, `?` any one; letters match with their case.
bool source_matches(std::string_view pattern, std::string_view member);

}  // namespace karmad
