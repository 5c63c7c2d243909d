#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// How the result sets of the shards become one.
struct CallMerge {
  enum class Rows : std::uint8_t {
    by_id,        ///< all rows, ordered by the number in their first column (PQ)
    keywords,     ///< of equal position, token and form, with the counts added
    suggestions,  ///< of equal first column, with the counts added
    by_rank,      ///< the first rows of all shards, then the second …; equal rows once
    same,         ///< those of the only reply
  };
  Rows rows = Rows::same;
  std::size_t limit = 0;  ///< most rows; 0: all
  std::string
      sorted_by;  ///< keywords: `docs` or `hits`, descending; empty: as the shards have them
  std::size_t hidden = 0;    ///< number of last columns that the client does not get
  bool in_one_line = false;  ///< suggestions: a row for each column (`result_line`)
  RowForm form = RowForm::raw;
};

/// Merges the replies, which are arrays of one result set, and appends the answer. On a reply that
/// cannot be read it leaves `out` unchanged. A pure function: any thread.
std::optional<BadReply> merge_call(const CallMerge& how, std::span<const ShardReply> replies,
                                   const MergeNotes& notes, std::string& out);

}  // namespace karmad
