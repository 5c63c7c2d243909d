#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// How the replies of shards to a statement such as SHOW become one result set.
struct PlainMerge {
  enum class Rows : std::uint8_t {
    /// Rows of a name and values (SHOW TABLE t STATUS): of rows with the same name in the first
    /// column, values that are integers are added; of others the first shard's is kept.
    added,
    concatenated,  ///< all rows, in the order of the shards (SHOW THREADS)
  };
  Rows rows = Rows::concatenated;
  RowForm form = RowForm::raw;  ///< hits count as raw
};

/// Merges replies in the form RowForm::raw, of one result set each, and appends the answer. Columns
/// are those that all shards have. On a reply that cannot be read it leaves `out` unchanged. A pure
/// function: any thread.
std::optional<BadReply> merge_plain(const PlainMerge& how, std::span<const ShardReply> replies,
                                    const MergeNotes& notes, std::string& out);

}  // namespace karmad
