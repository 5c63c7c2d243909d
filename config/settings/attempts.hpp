#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "config/settings/settings.hpp"

namespace karmad {

/// Highest retry count; more than 8 is not useful.
inline constexpr unsigned kMostRetries = 100;

/// Configured retries of a shard with that many mirrors. The count of an agent line is absolute,
/// that of the table or instance is per mirror (HA-026). Default: each other mirror once (X-15 has
/// one retry; docs/decisions/012-retries-onto-proven-mirrors.md).
constexpr unsigned configured_retries(std::optional<unsigned> per_mirror,
                                      std::optional<unsigned> of_line, std::size_t mirrors) {
  const auto all = static_cast<unsigned>(mirrors);
  if (of_line) return *of_line;
  return per_mirror ? *per_mirror * all : std::max(all, 1u) - 1;
}

/// Most retries of one request at one shard, by reason.
struct RetryCounts {
  unsigned ordinary = 0;
  unsigned overload = kDefaultSettings.overload_max_retries.value;   ///< BP-004
  unsigned throttled = kDefaultSettings.throttle_max_retries.value;  ///< CO-020
  unsigned timeouts = 0;  ///< further steps of `search_timeouts` (CO-044)
};

/// The same from the settings of a shard.
RetryCounts retry_counts(const RepeatSettings& searchd, const TableSettings& table,
                         const ShardSettings& shard);

/// Most attempts of one request at one shard, for any reason: `limit` if set, otherwise as many as
/// the largest count needs, and at least 6.
constexpr unsigned most_attempts(std::optional<unsigned> limit, const RetryCounts& retries) {
  return limit.value_or(
      1 + std::max({5U, retries.ordinary, retries.overload, retries.throttled, retries.timeouts}));
}

/// Reports the explicit counts that `max_attempts` makes unreachable, with their places.
Problems cut_off(const RepeatSettings& searchd, const TableSettings& table,
                 const ShardSettings& shard);

}  // namespace karmad
