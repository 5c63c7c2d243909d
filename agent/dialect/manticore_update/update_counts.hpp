#pragma once

#include <span>
#include <string>
#include <string_view>

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

}  // namespace karmad
