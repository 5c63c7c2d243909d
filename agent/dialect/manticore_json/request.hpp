#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

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
  std::string table;
  std::array<ByteRange, kProperties> properties;
  QueryOptions options;
  ByteRange scroll_option;  ///< `options.scroll`
  std::size_t closing_brace = 0;

  ByteRange operator[](Property property) const {
    return properties[static_cast<std::size_t>(property)];
  }
  ByteRange table_span() const {
    const auto table_value = (*this)[Property::table];
    return table_value.found() ? table_value : (*this)[Property::index];
  }
};

/// No request may nest deeper, whatever the setting says: parts of it become trees, which are
/// written recursively.
inline constexpr unsigned kDeepestRequest = 1000;

/// Validates the whole body (RFC 8259, UTF-8, nesting up to `max_depth`) in one pass
/// without building a tree, and finds the properties above. Errors are the client's (400).
std::expected<SearchRequest, ClientError> read_search_request(std::string_view body,
                                                              unsigned max_depth);

}  // namespace karmad
