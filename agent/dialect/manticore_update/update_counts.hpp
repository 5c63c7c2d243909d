#pragma once

#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// Whether the answer to one update can be read: an object that tells what was done, in a text
/// `result` (`created`, `updated`, `deleted`, `noop`, `not found`) or in a count (`updated`,
/// `deleted`, `created`), which must be a whole number.
bool is_update_answer(std::string_view body);

/// One answer for those of all shards, at least one, which is_update_answer() has passed: counts
/// (`updated`, `deleted`, `created`) are summed. By id the answer is that of the shard that had the
/// document (`updated`, `deleted`, `created`), else one with `noop`, else `not found`. A warning
/// of any shard is kept.
std::string merged_update_answer(std::span<const std::string_view> bodies);

/// Counts of all shards are added.
struct UpdateCounts {
  std::string table;
};

/// As merge_changes(): one answer from those of the shards and mirrors, with the client's name of
/// the table. A part that failed is named.
int merge_update_counts(const UpdateCounts& how, std::span<const ChangeReply> replies,
                        std::string& out);

}  // namespace karmad
