#include "config/attempts.hpp"

#include <fmt/format.h>

namespace karmad {
namespace {

std::optional<unsigned> value_of(const std::optional<Located<unsigned>>& setting) {
  return setting ? std::optional(setting->value) : std::nullopt;
}

struct Wanted {
  std::optional<Located<unsigned>> per_mirror;
  std::optional<Located<unsigned>> limit;
  unsigned retries = 0;
};

Wanted wanted(const InstanceSettings& searchd, const TableSettings& table,
              const ShardSettings& shard) {
  Wanted all{
      .per_mirror = table.agent_retry_count ? table.agent_retry_count : searchd.agent_retry_count,
      .limit = table.max_attempts ? table.max_attempts : searchd.max_attempts};
  all.retries =
      configured_retries(value_of(all.per_mirror), shard.retry_count, shard.mirrors.size());
  return all;
}

}  // namespace

unsigned most_attempts(const InstanceSettings& searchd, const TableSettings& table,
                       const ShardSettings& shard) {
  const auto all = wanted(searchd, table, shard);
  return most_attempts(value_of(all.limit), all.retries);
}

std::optional<Problem> cut_off(const InstanceSettings& searchd, const TableSettings& table,
                               const ShardSettings& shard) {
  const auto [per_mirror, limit, retries] = wanted(searchd, table, shard);
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
