#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_sql/select/select_item.hpp"
#include "agent/dialect/manticore_sql/select/shard_columns.hpp"

namespace karmad {

/// Most pairs of a group's key and a value that a shard is asked for. Below it COUNT(DISTINCT …) is
/// exact; 100 000 rows of two numbers are about 4 MB of reply.
inline constexpr std::size_t kMostPairs = 100'000;

/// The statement whose rows are the keys of a group and one value, each pair once: `SELECT keys,
/// value` and what follows the table, up to its LIMIT.
struct PairsText {
  std::string list;
  std::string group;
};

/// `items`: the select list, whose aliases may be used by keys, value and WHERE.
PairsText write_pairs(const std::vector<SelectItem>& keys, const SelectItem& value,
                      const std::vector<SelectItem>& items, std::string_view where,
                      HiddenNames& names);

}  // namespace karmad
