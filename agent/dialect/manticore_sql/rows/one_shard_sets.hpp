#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_sql/rows/row_plan.hpp"

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

}  // namespace karmad
