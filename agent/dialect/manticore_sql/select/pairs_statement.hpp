#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_sql/select/select_item.hpp"
#include "agent/dialect/manticore_sql/select/shard_columns.hpp"

namespace karmad {

/// Most pairs of a group's key and a value that a shard is asked for. Below it COUNT(DISTINCT …) is
/// exact; 100 000 rows of two numbers are about 9 MB of reply.
inline constexpr std::size_t kMostPairs = 100'000;

/// The statement whose rows are the keys of a group and one value, each pair once: `SELECT keys,
/// value` and what follows the table, up to its LIMIT.
struct PairsText {
  std::string list;
  std::string group;
  bool numbered = false;  ///< the second column behind the value is a number of the pair

  std::size_t size() const { return list.size() + group.size(); }
};

/// Most statements of pairs of one SELECT: each repeats its WHERE, and is a search of its own. Some
/// servers take at most 32 statements at once (max_batch_queries).
inline constexpr std::size_t kMostPairsStatements = 16;
/// Most bytes of all of them together, where there are several.
inline constexpr std::size_t kLongestPairsTexts = 4 << 20;

/// The aliases of a select list, and whether WHERE uses one.
class ListAliases {
 public:
  ListAliases(const std::vector<SelectItem>& items, std::string_view where);

  bool are_in_where() const { return are_in_where_; }
  /// Whether a name in the text is one of them.
  bool are_in(std::string_view text) const;

 private:
  std::set<std::string> names_;
  bool are_in_where_;
};

/// `items`: the select list, whose aliases may be used by keys, value and WHERE.
PairsText write_pairs(const std::vector<SelectItem>& keys, const SelectItem& value,
                      const std::vector<SelectItem>& items, const ListAliases& aliases,
                      HiddenNames& names);

}  // namespace karmad
