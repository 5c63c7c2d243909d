#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "agent/dialect/plan/plan.hpp"

namespace karmad {

inline ChangeReply done(std::size_t shard, std::string_view body, std::string mirror = "m:1") {
  return {.shard = shard, .done = true, .status = 200, .body = body, .mirror = std::move(mirror)};
}
inline ChangeReply refusing(std::size_t shard, int status, std::string_view body) {
  return {.shard = shard, .status = status, .body = body, .mirror = "m:1"};
}
inline ChangeReply lost(std::size_t shard, std::string reason, std::string mirror = "m:2") {
  return {.shard = shard, .status = 503, .mirror = std::move(mirror), .reason = std::move(reason)};
}

/// A planned change, or why there is none.
struct PlannedChange {
  std::optional<Plan> plan;
  std::string refused;
  int status = 0;  ///< of the last answer

  /// What a mirror of the shard gets; `-`: nothing.
  std::string written(std::size_t shard, const std::string& table = "x") const {
    if (!refused.empty()) return "refused: " + refused;
    if (!plan->asks(shard)) return "-";
    std::string buffer;
    return std::string(write_planned(*plan, shard, std::vector{table}, buffer).body);
  }
  std::string answer(std::vector<ChangeReply> replies) {
    std::string out;
    status = merge_changes(*plan, replies, out);
    return out;
  }
};

inline PlannedChange planned(std::expected<Plan, ClientError> plan) {
  if (!plan) return {{}, plan.error().reason, plan.error().status};
  return {*std::move(plan), {}, 0};
}

}  // namespace karmad
