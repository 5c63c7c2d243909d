#pragma once

#include <optional>
#include <span>
#include <string>

#include "agent/dialect/merge/scroll_pages.hpp"
#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/rows/row_plan.hpp"

namespace karmad {

/// How the replies of shards to a SELECT become one. A reply is an array of result sets in the form
/// RowForm::raw: the rows, the facets, SHOW META, the pairs.
struct SelectPlan {
  RowForm form = RowForm::raw;
  Collation collation = Collation::libc_ci;
  RowPlan rows;
  std::vector<RowPlan> facets;
  std::vector<PairsPlan> pairs;
  std::optional<ScrollPages> scroll;
};

/// Merges the replies of the shards to the statements of a SELECT and appends the answer in the
/// form `plan.form`. A reply is an array of result sets: the rows, a set for each facet, SHOW META,
/// a set for each of `plan.pairs`. An empty reply is a shard without an answer. Warnings of
/// `notes`, of the shards, and about estimated columns become the answer's warning; `notes.meta`,
/// if given, gets the merged SHOW META, and `notes.sets` the result sets in place of `out`.
///
/// A malformed reply is named; `out` and `notes.meta` are unchanged then. A pure function: any
/// thread.
std::optional<BadReply> merge_select(const SelectPlan& plan, std::span<const ShardReply> replies,
                                     const MergeNotes& notes, std::string& out);

/// As Plan::merge_weight.
unsigned merge_weight(const SelectPlan& plan);

}  // namespace karmad
