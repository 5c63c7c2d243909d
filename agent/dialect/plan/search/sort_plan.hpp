#pragma once

#include <rapidjson/document.h>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/merge/sort_keys.hpp"
#include "agent/dialect/request/client_request.hpp"

namespace karmad {

/// The key of `"_geo_distance":{…}`: the distance in metres, computed as the search server does.
/// `how`: null if it has no properties.
std::expected<SortKey, ClientError> distance_key(const rapidjson::Value* how);

/// The key of `"attribute":{"mode":…}`: the least or greatest of several values.
std::expected<SortKey, ClientError> least_or_greatest_key(std::string_view attribute,
                                                          const rapidjson::Value& mode);

/// Names the computed keys by their position.
void name_computed(std::vector<SortKey>& keys);

/// Keys that are names in the request's `expressions` (an object; may be empty) lead into no JSON
/// attribute.
void take_named_expressions(std::string_view expressions, std::vector<SortKey>& keys);

/// The members of `expressions` for the shards, without braces: empty if no key is computed.
std::string expressions_of(const std::vector<SortKey>& keys);

/// `"asc"` or `"desc"`.
std::expected<bool, ClientError> sorts_descending(std::string_view attribute,
                                                  const rapidjson::Value& order);

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

}  // namespace karmad
