#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/order/sort_key.hpp"

namespace karmad {

/// The order of a search for vectors that has no `sort`.
enum class VectorOrder : std::uint8_t {
  none,      ///< no such search
  distance,  ///< nearest first; `sort` only decides between equal distances
  fused,     ///< best fused score first; `sort` replaces it
};

/// Most sort keys that the search server accepts.
inline constexpr std::size_t kMostServerKeys = 5;

/// The order of the merged answer, and the part of it that the shards sort by.
struct SortPlan {
  /// The client's keys, then `id` ascending unless one of them is `id`. Keys after an `id` key have
  /// no effect and are dropped, but for the distance.
  std::vector<SortKey> keys;
  /// How many of `keys` a shard sorts by. An added `id` is not requested in two cases: in the
  /// default order, which the server can answer without looking at all documents only if it has no
  /// other key, and after kMostServerKeys keys.
  std::size_t asked = 0;
  /// How many first keys servers sort by on their own: a search for vectors, by distance.
  std::size_t implied = 0;
  bool scores =
      false;  ///< a key of the client's, kept or not, is the score: each hit shows its own

  /// The client's keys, or those for a search without `sort`, that shards are told.
  bool is_told() const { return implied < asked; }

  /// Only the score, best first: the order of a request without `sort`.
  bool is_default() const;
};

/// `text`: the bytes of the request's `sort`, empty if there is none (score, best first). Refuses
/// what cannot be merged (`_random`, expressions) and what the search server refuses (`missing`,
/// `nested_path`, `nested_filter`, `_script`).
std::expected<SortPlan, ClientError> plan_sort(std::string_view text,
                                               VectorOrder vectors = VectorOrder::none);

/// The value of `sort` for a shard's request.
std::string write_sort(const SortPlan& plan);

/// Compares names of attributes, which are not case-sensitive.
bool same_attribute(std::string_view a, std::string_view b);

}  // namespace karmad
