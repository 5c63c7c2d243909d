#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>
#include <vector>

#include "agent/dialect/replies/raw_replies.hpp"
#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/rows/group_key.hpp"
#include "agent/dialect/rows/row_plan.hpp"

namespace karmad {

/// A further statement to the shards, whose rows are the keys of a group and one value, each pair
/// once: the values of COUNT(DISTINCT …) are counted in the pairs of all shards.
struct PairsPlan {
  std::size_t keys = 0;   ///< first columns, the group's key; the value is the next one
  bool numbered = false;  ///< the groups have a RowPlan::group_number
  std::size_t asked =
      0;  ///< pairs requested of a shard; as many in a reply: the count is an estimate
  /// The column with a number that equal pairs have on all shards, unless a column has several
  /// values. Tells floats apart that are written alike.
  std::optional<std::size_t> number{};
};

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

}  // namespace karmad
