#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// One key hits are ordered by.
struct SortKey {
  enum class By : std::uint8_t { score, id, attribute };
  By by = By::attribute;
  bool descending = false;
  std::string attribute;  ///< its name, for By::attribute
};

/// The order of the whole answer: the client's keys, then `id` ascending unless a key is `id`
/// already. What stands behind an `id` key can decide nothing and is left out.
/// `text`: the bytes of the request's `sort`, empty when there is none (score, best first).
/// Refuses what cannot be merged: `_random`, `_geo_distance`, `mode`.
std::expected<std::vector<SortKey>, ClientError> plan_sort(std::string_view text);

/// The keys as the value of `sort` in a shard's request.
std::string write_sort(const std::vector<SortKey>& keys);

/// Attribute names are not case sensitive.
bool same_attribute(std::string_view a, std::string_view b);

}  // namespace karmad
