#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/merge/merge_steps.hpp"
#include "agent/dialect/plan/shard_text.hpp"
#include "agent/dialect/request/sql_statement.hpp"

namespace karmad {

/// A SELECT over several shards: what each is asked, and how their replies become one.
struct ShardSelect {
  std::string statements;  ///< for a shard, but for the table's name
  TextEdits names;         ///< of the statements: puts it in
  SelectPlan plan;
  std::optional<NearDocument> document;  ///< the one whose vector KNN() searches by
};

/// Plans a SELECT of one table. The shards get the client's list and hidden columns for what
/// merging needs, no offset, as many rows as merging needs, no HAVING; then SHOW META, and a
/// statement for each COUNT(DISTINCT …).
///
/// `pairs_by`: how the pairs of COUNT(DISTINCT …) are asked for.
///
/// `vector`: the numbers of the vector of ShardSelect::document, if KNN() is by a document.
///
/// Refuses, with the offset: what sql::Select::unplannable and its lists say (400), and what
/// cannot be computed from the rows of shards (501), with what works instead; scrolls that cannot
/// be continued (400).
OrError<ShardSelect> plan_select(const sql::Select& select, RowForm form, Collation collation,
                                 const ScrollPlace& place = {}, std::string_view vector = {},
                                 PairsBy pairs_by = PairsBy::values);

}  // namespace karmad
