#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/rows/row_plan.hpp"

namespace karmad {

/// The result sets of the first shard are the answer.
struct OneShardSets {
  enum class Kept : std::uint8_t {
    all,
    last,
    whole_answer,  ///< which is no list of result sets
  };
  RowForm form = RowForm::raw;
  Kept kept = Kept::all;
  /// The client's name of the table, to be shown instead of the mirror's; empty: no name is shown.
  std::string table{};
};

/// Appends them. On a reply that cannot be read it leaves `out` unchanged. A pure function: any
/// thread.
std::optional<BadReply> pass_sets_on(const OneShardSets& how, const ShardReply& reply,
                                     std::string& out);

/// How the result sets of the shards become one, for statements such as SHOW and CALL. Columns are
/// those that all shards have.
struct RowsMerge {
  enum class Rows : std::uint8_t {
    by_id,        ///< all rows, ordered by the number in their first column (PQ)
    keywords,     ///< of equal position, token and form, with the counts added
    suggestions,  ///< of equal first column, with the counts added
    by_rank,      ///< the first rows of all shards, then the second …; equal rows once
    same,         ///< those of the only reply
    /// Rows of a name and values (SHOW TABLE t STATUS): of rows with the same name in the first
    /// column, values that are integers are added; of others the first shard's is kept.
    added,
    concatenated,  ///< all rows, in the order of the shards (SHOW THREADS)
  };
  Rows rows = Rows::same;
  std::size_t limit = 0;  ///< most rows; 0: all
  std::string
      sorted_by;  ///< keywords: `docs` or `hits`, descending; empty: as the shards have them
  std::size_t hidden = 0;       ///< number of last columns that the client does not get
  bool in_one_line = false;     ///< suggestions: a row for each column (`result_line`)
  RowForm form = RowForm::raw;  ///< hits count as raw
};

/// Merges the replies, which are arrays of one result set, and appends the answer. On a reply that
/// cannot be read it leaves `out` unchanged. A pure function: any thread.
std::optional<BadReply> merge_rows(const RowsMerge& how, std::span<const ShardReply> replies,
                                   const MergeNotes& notes, std::string& out);

}  // namespace karmad
