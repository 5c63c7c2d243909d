#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// The top-level properties of a search request that routing or merging looks at. All others are
/// passed along unread.
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
};
inline constexpr std::size_t kProperties = 19;

std::string_view name(Property property);
std::optional<Property> property_named(std::string_view key);
/// Whether a key that is not `table` or `index` may be one of them for an engine: when it takes
/// keys in any case, or ends them at a zero byte.
bool may_name_table(std::string_view key);
/// What is wrong with a request that has such a key, in words that continue "the request".
std::string why_key_is_refused(std::string_view key);
/// Whether a member of `options` of that name is read here.
bool names_option(std::string_view key);

/// Where a value stands in the body; `end` is 0 when there is none.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool found() const { return end != 0; }
  std::string_view in(std::string_view body) const { return body.substr(begin, end - begin); }
  bool operator==(const ByteRange&) const = default;
};

/// What one pass over a search request finds.
struct SearchRequest {
  /// The value of `table`, or of `index` where that is missing: as the search server reads it.
  std::string table;
  std::array<ByteRange, kProperties> properties;
  QueryOptions options;
  ByteRange scroll_option;       ///< `options.scroll`
  ByteRange max_matches_option;  ///< `options.max_matches`; of several the last
  std::size_t closing_brace = 0;

  ByteRange operator[](Property property) const {
    return properties[static_cast<std::size_t>(property)];
  }
  /// Where the table is named; with `other` the second of two places, in order.
  ByteRange table_span() const {
    const auto [first, second] = named();
    return first.found() ? first : second;
  }
  ByteRange other_table_span() const {
    const auto [first, second] = named();
    return first.found() ? second : ByteRange();
  }

 private:
  /// By their place, one that is missing first.
  std::pair<ByteRange, ByteRange> named() const {
    const auto table_value = (*this)[Property::table];
    const auto index_value = (*this)[Property::index];
    return table_value.begin < index_value.begin ? std::pair(table_value, index_value)
                                                 : std::pair(index_value, table_value);
  }
};

/// No request may nest deeper, whatever the setting says: parts of it become trees, which are
/// written recursively.
inline constexpr unsigned kDeepestRequest = 1000;

}  // namespace karmad
