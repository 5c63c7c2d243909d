#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "agent/dialect/fronts/sql/sql_statement.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

namespace karmad {

/// The bytes of a statement that name the table; `end` 0: none.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Plans a SHOW that mirrors answer. Numbers of a status are added over the shards, threads listed
/// one after the other; anything else is the same on every shard and asked of the first.
std::unique_ptr<FanOut> plan_show(std::string_view statement, const ShowStatement& show,
                                  RowForm form);

enum class KeptSets : std::uint8_t {
  all,
  last,
  whole_answer,  ///< which is no list of result sets
};

/// Sends a statement to one mirror of the first shard, with the table's name replaced, and passes on
/// the result sets.
std::unique_ptr<FanOut> plan_for_one_shard(std::string statement, TextRange table, RowForm form,
                                           KeptSets kept);

}  // namespace karmad
