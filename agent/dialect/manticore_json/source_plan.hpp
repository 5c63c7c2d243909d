#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/sort_plan.hpp"

namespace karmad {

/// The fields of a document that shards must return for ordering hits, and which of these the
/// client did not request.
struct SourcePlan {
  std::optional<std::string> rewritten;  ///< value of `_source` for the shards; empty: unchanged
  std::vector<std::string> hidden;       ///< patterns (`*`, `?`) of the members to remove again

  bool hides(std::string_view member) const;
};

/// `text`: the bytes of the request's `_source`, empty when there is none.
std::expected<SourcePlan, ClientError> plan_source(std::string_view text,
                                                   const std::vector<SortKey>& keys);

/// `*` matches any characters, `?` any one; letters match with their case.
bool source_matches(std::string_view pattern, std::string_view member);

}  // namespace karmad
