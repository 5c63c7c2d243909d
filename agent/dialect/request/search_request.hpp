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
  /// The request without the white space around it.
  std::string_view object_in(std::string_view body) const {
    const auto begin = body.find('{');
    return body.substr(begin, closing_brace + 1 - begin);
  }
  /// The place that names the table; `other` is the second place, if there are two.
  ByteRange table_span() const {
    const auto [first, second] = named();
    return first.found() ? first : second;
  }
  ByteRange other_table_span() const {
    const auto [first, second] = named();
    return first.found() ? second : ByteRange();
  }

 private:
  /// Both, ordered by position; a missing one comes first.
  std::pair<ByteRange, ByteRange> named() const {
    const auto table_value = (*this)[Property::table];
    const auto index_value = (*this)[Property::index];
    return table_value.begin < index_value.begin ? std::pair(table_value, index_value)
                                                 : std::pair(index_value, table_value);
  }
};

/// Upper bound for the nesting depth, whatever the setting says: parts of a request become trees
/// that are written recursively.
inline constexpr unsigned kDeepestRequest = 1000;

}  // namespace karmad
