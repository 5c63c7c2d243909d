#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/rows/row_plan.hpp"

namespace karmad {

/// The answer to an update with `table` in each place that names the changed table: at the top, in
/// its `error`, and in each of a bulk's `items`. The rest is unchanged, error texts included.
/// Nothing: the answer names no other table, is malformed or too long.
std::optional<std::string> with_table(std::string_view answer, std::string_view table);

/// Appends the refusal of an update with the client's name of the table, and returns its status.
int pass_refusal_on(std::string& out, const ChangeReply& refusal, std::string_view table);

/// One answer for those of all shards, at least one, which can be read: counts
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

/// The rows that the shards changed are added.
struct SqlCounts {
  RowForm form = RowForm::raw;
  std::string table{};  ///< the client's name
};

/// As merge_changes().
int merge_sql_changes(const SqlCounts& how, std::span<const ChangeReply> replies, std::string& out);

}  // namespace karmad
