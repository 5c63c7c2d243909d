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

/// Most attempts of one request at one shard, for any reason: `limit` if set, otherwise a default
/// that is raised if more retries are configured.
constexpr unsigned most_attempts(std::optional<unsigned> limit, unsigned retries) {
  constexpr unsigned usual = 6;
  return limit.value_or(std::max(usual, retries + 1));
}

/// The same for a shard, from all its settings.
unsigned most_attempts(const TableSettings& table, const ShardSettings& shard);

/// Reports explicit retry counts that `max_attempts` makes unreachable, with the place. Nothing:
/// they agree.
std::optional<Problem> cut_off(const TableSettings& table, const ShardSettings& shard);

}  // namespace karmad
