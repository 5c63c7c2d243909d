#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/merge/merge_steps.hpp"
#include "agent/dialect/plan/shard_text.hpp"

namespace karmad {

// What the parts of a search mean for its plan.

/// Keys that are names in the request's `expressions` (an object; may be empty) lead into no JSON
/// attribute.
void take_named_expressions(std::string_view expressions, std::vector<SortKey>& keys);

/// The members of `expressions` for the shards, without braces: empty if no key is computed.
std::string expressions_of(const std::vector<SortKey>& keys);

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
  /// How many keys behind these are the client's.
  std::size_t given = 0;
  bool scores =
      false;  ///< a key of the client's, kept or not, is the score: each hit shows its own

  /// The client's keys, or those for a search without `sort`, that shards are told.
  bool is_told() const { return implied < asked; }
};

/// `text`: the bytes of the request's `sort`, empty if there is none (score, best first). Refuses
/// what cannot be merged (`_random`, expressions) and what the search server refuses (`missing`,
/// `nested_path`, `nested_filter`, `_script`).
OrError<SortPlan> plan_sort(std::string_view text, VectorOrder vectors = VectorOrder::none);

/// The value of `sort` for a shard's request.
std::string write_sort(const SortPlan& plan);

/// What `knn`, `hybrid` and `options.fusion_method` of a search mean for the merged answer.
struct VectorPlan {
  VectorOrder order = VectorOrder::none;
  /// Most hits of the merged answer: the `k` nearest of all shards. Nothing: no such limit.
  std::optional<std::uint64_t> nearest;
  std::optional<NearDocument> document;
  /// The vector in place of the document's id, one more neighbour, since some servers filter after
  /// the search, and a filter without the document itself.
  TextEdits edits;
};

/// `vector`: the numbers of the document's vector, if the search is by a document's. Refuses (400)
/// mistakes, and a fused search by a document's vector over several shards. On one shard such a
/// search is sent unchanged.
VectorPlan plan_vectors(std::string_view body, const SearchRequest& request, std::size_t shards,
                        std::string_view vector, FirstRefusal& refusal);

/// `text`: the bytes of the request's `aggs`, empty if there is none. Refuses what cannot be merged
/// from the shards' results: nested aggregations, unknown kinds. For percentiles and numbers of
/// distinct values shards are asked for all values.
OrError<AggregationPlan> plan_aggregations(std::string_view text, const SearchPage& page);

}  // namespace karmad
