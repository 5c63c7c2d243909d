#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "config/settings.hpp"

namespace karmad {

/// No retry count may be larger; 8 is the most that is sensible.
inline constexpr unsigned kMostRetries = 100;

/// Retries that are configured for a shard with so many mirrors: the agent line's count is
/// absolute, the table's or instance's is per mirror (HA-026). Neither is set: each other
/// mirror once (X-15 has one retry; docs/decisions/012-retries-onto-proven-mirrors.md).
constexpr unsigned configured_retries(std::optional<unsigned> per_mirror,
                                      std::optional<unsigned> of_line, std::size_t mirrors) {
  const auto all = static_cast<unsigned>(mirrors);
  if (of_line) return *of_line;
  return per_mirror ? *per_mirror * all : std::max(all, 1u) - 1;
}

/// The attempts of one request at one shard, whatever they are made for: `limit` where it is
/// set, else a default that gives way to the retries that are wanted.
constexpr unsigned most_attempts(std::optional<unsigned> limit, unsigned retries) {
  constexpr unsigned usual = 6;
  return limit.value_or(std::max(usual, retries + 1));
}

/// The same for a shard, by everything that is configured.
unsigned most_attempts(const TableSettings& table, const ShardSettings& shard);

/// A retry count and a `max_attempts`, both set explicitly, of which one cuts the other off: where
/// and what. Nothing: they agree.
std::optional<Problem> cut_off(const TableSettings& table, const ShardSettings& shard);

}  // namespace karmad
