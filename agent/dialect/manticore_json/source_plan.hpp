#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/sort_plan.hpp"

namespace karmad {

/// What the shards must return of a document so that hits can be ordered, and what of it the client
/// did not ask for.
struct SourcePlan {
  std::optional<std::string> rewritten;  ///< value of `_source` for the shards, when it must change
  std::vector<std::string> hidden;       ///< patterns (`*`, `?`) of the members to take out again

  bool hides(std::string_view member) const;
};

/// `text`: the bytes of the request's `_source`, empty when there is none.
std::expected<SourcePlan, ClientError> plan_source(std::string_view text,
                                                   const std::vector<SortKey>& keys);

/// `*` is any run of characters, `?` any one; letters compare without case.
bool source_matches(std::string_view pattern, std::string_view member);

}  // namespace karmad
