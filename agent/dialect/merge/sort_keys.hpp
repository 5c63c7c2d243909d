#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/rows/json_path.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

/// One key by which hits are ordered.
struct SortKey {
  enum class By : std::uint8_t { score, id, attribute, knn_dist, hybrid_score };
  By by = By::attribute;
  bool descending = false;
  std::string name;  ///< for By::attribute: as the client wrote it, `price` or `meta.color`
  /// For By::attribute: the member of `_source` with the value, `price` or `meta`.
  std::string attribute;
  std::vector<JsonStep> path;  ///< from the attribute to the value; empty: the attribute itself
  /// Computed by the shards as `name`, which clients do not see; empty: not computed.
  std::string expression;

  bool operator==(const SortKey&) const = default;
};

/// Compares names of attributes, which are not case-sensitive.
inline bool same_attribute(std::string_view a, std::string_view b) {
  return wire::same_word(a, b);
}

}  // namespace karmad
