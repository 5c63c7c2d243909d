#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/dialect/request/client_request.hpp"

namespace karmad {

/// The top-level properties of a search request that routing or merging uses. All others are passed
/// on unread.
enum class Property : std::uint8_t {
  table,
  index,
  limit,
  size,
  offset,
  from,
  max_matches,
  sort,
  track_scores,
  source,
  aggs,
  aggregations,
  options,
  scroll,
  profile,
  plan,
  knn,
  hybrid,
  join,
  expressions,
  search_after,
  cutoff,
};
inline constexpr std::size_t kProperties = 22;

std::string_view name(Property property);
std::optional<Property> property_named(std::string_view key);
/// Whether an engine may read this key as `table`, `index` or `join`, although it is none of them:
/// keys in another case, or with a zero byte.
bool may_name_table(std::string_view key);
/// Why a request with such a key is refused, to follow the words "the request".
std::string why_key_is_refused(std::string_view key);
/// Whether an engine may read this key as a property, although its letter case is another one, or
/// it has a zero byte.
bool may_name_property(std::string_view key);
/// Whether the value of a property has the same effect as if the property were missing.
bool is_off(std::string_view value);
/// Whether karmad reads the member of `options` with that name.
bool names_option(std::string_view key);

/// Result of reading a search request once.
struct SearchRequest {
  /// The value of `table`, or of `index` if `table` is missing, as in the search server.
  std::string table;
  std::array<ByteRange, kProperties> properties;
  QueryOptions options;
  ByteRange scroll_option;       ///< `options.scroll`
  ByteRange max_matches_option;  ///< `options.max_matches`; if repeated, the last
  bool cutoff_option = false;    ///< `options.cutoff`
  std::size_t closing_brace = 0;
  bool odd_key = false;  ///< has a key as may_name_property() describes it

  ByteRange operator[](Property property) const {
    return properties[static_cast<std::size_t>(property)];
  }
  /// The places that name the table, in their order; a missing one comes last.
  std::pair<ByteRange, ByteRange> table_places() const {
    std::pair places((*this)[Property::table], (*this)[Property::index]);
    auto& [first, second] = places;
    if (!first.found() || (second.found() && second.begin < first.begin)) std::swap(first, second);
    return places;
  }
};

/// Upper bound for the nesting depth, whatever the setting says: parts of a request become trees
/// that are written recursively.
inline constexpr unsigned kDeepestRequest = 1000;

}  // namespace karmad
