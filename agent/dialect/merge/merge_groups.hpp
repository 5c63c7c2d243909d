#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/rows/group_key.hpp"
#include "agent/dialect/rows/row_plan.hpp"
#include "agent/dialect/rows/sort_value.hpp"

namespace karmad {

/// The number of different values in each group, over all shards. Keeps 24 bytes for each pair of a
/// group and a value: keyed hashes, of 128 bits for the pair, so that different pairs are never
/// taken for the same one.
///
/// A column of several values has all those of one document, and the document is in the group of
/// each: it stands for as many pairs. So all pairs are known, though no row says which value it is
/// the row of.
class DistinctPairs {
 public:
  /// Reads the result sets of number `set`, one pair a row.
  static std::expected<DistinctPairs, BadReply> read(const RawReplies& replies, std::size_t set,
                                                     const PairsPlan& plan, Collation collation);

  /// Number of different values of the group with that key, a JSON value for each part.
  std::uint64_t values_of(std::span<const std::string_view> key) const;

  /// False: the groups have several keys, one of them of several values, and are known by a hash
  /// only. Then values_of({}) is the number of different values of all groups.
  bool by_group() const { return by_group_; }

  /// A shard returned as many pairs as requested: it may have more.
  bool may_be_short() const { return may_be_short_; }

 private:
  struct Pair {
    std::uint64_t group = 0;
    std::uint64_t pair[2] = {};
    auto operator<=>(const Pair&) const = default;
  };
  struct Group {
    std::uint64_t group = 0;
    std::uint64_t values = 0;
  };

  DistinctPairs(std::vector<KeyKind> kinds, Collation collation)
      : kinds_(std::move(kinds)), collation_(collation) {}
  void count_values(std::vector<Pair>& pairs);

  std::vector<KeyKind> kinds_;  // of the parts of the key, then of the value
  Collation collation_;
  std::vector<Group> groups_;  // ascending
  bool by_group_ = true;
  bool may_be_short_ = false;
};

/// The text as a number that HAVING compares with; nothing: it is none, or not finite.
std::optional<JsonNumber> number_of_having(std::string_view text);

/// A condition of HAVING with its values ready for comparison. Refers to `condition`.
class Having {
 public:
  Having(const RowCondition& condition, Collation collation);

  /// `cell`: a JSON value. Numbers are compared with values that are numbers, strings with all
  /// values as texts; other comparisons are not fulfilled.
  bool holds(std::string_view cell) const;

 private:
  struct Value {
    std::string escaped;  // the value as the inside of a JSON string
    std::optional<SortValue> number;
    SortValue text;
  };

  bool fulfils(const SortValue& cell) const;

  const RowCondition& condition_;
  Collation collation_;
  std::vector<Value> values_;
};

/// Merges the groups of the shards' result sets of number `set`: rows with equal keys become one
/// group, its values are folded, HAVING leaves groups out, and the rest is ordered and cut to the
/// page. Groups that are equal in the order stay in the order in which the shards name them first.
/// All rows are read. `pairs` belongs to `FoldedColumn::pairs`.
std::expected<MergedRows, BadReply> merge_groups(const RawReplies& replies, std::size_t set,
                                                 const RowPlan& plan, Collation collation,
                                                 std::span<const DistinctPairs> pairs);

}  // namespace karmad
