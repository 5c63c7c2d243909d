#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/fronts/sql/sql_statement.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// A SELECT over several shards: what each is asked, and how their replies become one.
struct ShardSelect {
  /// The statements for a shard, split at each place of the table's name.
  std::vector<std::string> around_table;
  SelectPlan plan;
  /// The document whose vector KNN() searches by.
  struct Document {
    std::string attribute;  ///< with the vector; backquotes included
    std::string id;
  };
  std::optional<Document> document;
};

/// Plans a SELECT of one table. The shards get the client's list and hidden columns for what
/// merging needs, no offset, as many rows as merging needs, no HAVING; then SHOW META, and a
/// statement for each COUNT(DISTINCT …).
///
/// `vector`: the numbers of the vector of ShardSelect::document, if KNN() is by a document.
///
/// Refuses, with the offset: what SqlSelect::unplannable and its lists say (400), and what
/// cannot be computed from the rows of shards (501), with what works instead; scrolls that cannot
/// be continued (400).
std::expected<ShardSelect, ClientError> plan_select(const SqlSelect& select, RowForm form,
                                                    Collation collation,
                                                    const ScrollPlace& place = {},
                                                    std::string_view vector = {});

/// Appends the shard's statements with a mirror's names of the table.
void append_statements(std::string& out, const ShardSelect& select,
                       std::span<const std::string> tables);

}  // namespace karmad
