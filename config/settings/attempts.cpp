#include "config/settings/attempts.hpp"

#include <fmt/format.h>

namespace karmad {
namespace {

std::optional<unsigned> value_of(const std::optional<Located<unsigned>>& setting) {
  return setting ? std::optional(setting->value) : std::nullopt;
}

unsigned wanted_retries(const TableSettings& table, const ShardSettings& shard) {
  return configured_retries(value_of(table.agent_retry_count), shard.retry_count,
                            shard.mirrors.size());
}

}  // namespace

unsigned most_attempts(const TableSettings& table, const ShardSettings& shard) {
  return most_attempts(value_of(table.max_attempts), wanted_retries(table, shard));
}

std::optional<Problem> cut_off(const TableSettings& table, const ShardSettings& shard) {
  const auto& per_mirror = table.agent_retry_count;
  const auto& limit = table.max_attempts;
  const auto retries = wanted_retries(table, shard);
  const bool both_set = limit && (per_mirror || shard.retry_count);
  if (!both_set || retries + 1 <= limit->value) return std::nullopt;
  const auto count = shard.retry_count
                         ? fmt::format("retry_count={}", retries)
                         : fmt::format("agent_retry_count = {}, for each of the {} mirrors in {},",
                                       per_mirror->value, shard.mirrors.size(), text(shard.at));
  return Problem{shard.retry_count ? shard.at : per_mirror->at,
                 fmt::format("{} makes {} attempts, but max_attempts = {} in {} ends them", count,
                             retries + 1, limit->value, text(limit->at))};
}

}  // namespace karmad
