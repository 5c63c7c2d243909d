#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// How the replies of shards to a statement such as SHOW become one result set.
enum class PlainMerge : std::uint8_t {
  /// Rows of a name and values (SHOW TABLE t STATUS): of rows with the same name in the first
  /// column, values that are integers are added; of others the first shard's is kept.
  added,
  concatenated,  ///< all rows, in the order of the shards (SHOW THREADS)
};

/// Merges replies in the form RowForm::raw, of one result set each, and appends the answer in the
/// form `form` (RowForm::hits counts as raw). Columns are those that all shards have. `warning`
/// (plain text, may be empty) and the warnings of the shards are the answer's warning. On a reply
/// that cannot be read it leaves `out` unchanged. A pure function: any thread.
std::optional<FanOut::BadReply> merge_plain(PlainMerge how, std::span<const ShardReply> replies,
                                            RowForm form, std::string& out,
                                            std::string_view warning = {});

}  // namespace karmad
