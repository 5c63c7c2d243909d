#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/json_path.hpp"

namespace karmad {

/// One key hits are ordered by.
struct SortKey {
  enum class By : std::uint8_t { score, id, attribute };
  By by = By::attribute;
  bool descending = false;
  std::string name;  ///< for By::attribute: as the client wrote it, `price` or `meta.color`
  /// For By::attribute: what of `_source` holds the value, `price` or `meta`.
  std::string attribute;
  std::vector<JsonStep> path;  ///< from there to the value; empty: it is the attribute itself
};

/// The search server sorts by no more keys.
inline constexpr std::size_t kMostServerKeys = 5;

/// The order of the whole answer, and what of it the shards are asked for.
struct SortPlan {
  /// The client's keys, then `id` ascending unless a key is `id` already. What stands behind an
  /// `id` key can decide nothing and is left out.
  std::vector<SortKey> keys;
  /// How many of `keys` a shard sorts by. The `id` that is only added is none of them in the
  /// default order, which the server can answer without looking at all documents as long as it has
  /// no other key, and behind as many keys as the server takes.
  std::size_t asked = 0;
  bool scores =
      false;  ///< a key of the client's, kept or not, is the score: each hit shows its own

  /// Best score first and nothing else: what a request without `sort` gets.
  bool is_default() const;
};

/// `text`: the bytes of the request's `sort`, empty when there is none (score, best first).
/// Refuses what cannot be merged, `_random`, `_geo_distance`, `mode` and expressions, and what the
/// search server refuses: `missing`, `nested_path`, `nested_filter`, `_script`.
std::expected<SortPlan, ClientError> plan_sort(std::string_view text);

/// The value of `sort` in a shard's request.
std::string write_sort(const SortPlan& plan);

/// Attribute names are not case sensitive.
bool same_attribute(std::string_view a, std::string_view b);

}  // namespace karmad
