#include "config/settings/attempts.hpp"

#include <fmt/format.h>

namespace karmad {

RetryCounts retry_counts(const RepeatSettings& searchd, const TableSettings& table,
                         const ShardSettings& shard) {
  const auto& per_mirror = table.agent_retry_count;
  const auto& steps = table.search_timeouts;
  return {
      .ordinary = configured_retries(per_mirror ? std::optional(per_mirror->value) : std::nullopt,
                                     shard.retry_count, shard.mirrors.size()),
      .overload = searchd.overload_max_retries.value,
      .throttled = searchd.throttle_max_retries.value,
      .timeouts = steps ? static_cast<unsigned>(steps->value.size()) - 1 : 0};
}

Problems cut_off(const RepeatSettings& searchd, const TableSettings& table,
                 const ShardSettings& shard) {
  Problems cut;
  const auto& limit = table.max_attempts;
  if (!limit) return cut;
  const auto retries = retry_counts(searchd, table, shard);
  const auto add = [&](const Place& at, unsigned wanted, const std::string& count) {
    if (wanted + 1 > limit->value)
      cut.push_back({at, fmt::format("{} makes {} attempts, but max_attempts = {} in {} ends them",
                                     count, wanted + 1, limit->value, text(limit->at))});
  };
  if (shard.retry_count) {
    add(shard.at, retries.ordinary, fmt::format("retry_count={}", retries.ordinary));
  } else if (const auto& per_mirror = table.agent_retry_count) {
    add(per_mirror->at, retries.ordinary,
        fmt::format("agent_retry_count = {}, for each of the {} mirrors in {},", per_mirror->value,
                    shard.mirrors.size(), text(shard.at)));
  }
  const auto add_set = [&](const Located<unsigned>& setting, const char* name) {
    if (setting.at != Place{})
      add(setting.at, setting.value, fmt::format("{} = {}", name, setting.value));
  };
  add_set(searchd.overload_max_retries, "overload_max_retries");
  add_set(searchd.throttle_max_retries, "throttle_max_retries");
  if (table.search_timeouts)
    add(table.search_timeouts->at, retries.timeouts,
        fmt::format("search_timeouts with {} steps", retries.timeouts + 1));
  return cut;
}

}  // namespace karmad
