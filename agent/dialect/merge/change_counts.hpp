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

/// Longer answers keep the mirror's name of the table: replacing it takes several passes.
inline constexpr std::size_t kLongestNamedAnswer = 1 << 20;

/// The answer to an update with `table` in each place that names the changed table: at the top, in
/// its `error`, and in each of a bulk's `items`. The rest is unchanged, error texts included.
/// Nothing: the answer names no other table, is malformed or too long.
std::optional<std::string> with_table(std::string_view answer, std::string_view table);

/// Appends the refusal of an update with the client's name of the table, and returns its status.
int pass_refusal_on(std::string& out, const ChangeReply& refusal, std::string_view table);

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

/// What the answer to a change says.
struct ChangeCount {
  std::uint64_t rows = 0;
  std::string warning;
};

/// Reads an answer, `[{"total":1,"error":"","warning":""}]` or the text of /cli,
/// `Query OK, 1 row affected (0.000 sec)`; nothing if it is malformed.
std::optional<ChangeCount> read_change_answer(std::string_view body);

/// Appends an answer, as a text for RowForm::text; `error` empty: none.
void append_change_answer(std::string& out, RowForm form, const ChangeCount& count,
                          std::string_view error);

/// The rows that the shards changed are added.
struct SqlCounts {
  RowForm form = RowForm::raw;
  std::string table{};  ///< the client's name
};

/// As merge_changes().
int merge_sql_changes(const SqlCounts& how, std::span<const ChangeReply> replies, std::string& out);

}  // namespace karmad
