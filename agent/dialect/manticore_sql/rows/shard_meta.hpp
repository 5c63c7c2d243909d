#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_sql/rows/raw_replies.hpp"

namespace karmad {

/// What SHOW META says of one shard. The views are into the reply, inside of JSON strings.
struct ShardMeta {
  bool answered = false;
  std::uint64_t total_found = 0;
  bool is_lower_bound = false;
  std::string_view time;  ///< seconds, `0.001`
  std::string_view warning;
};

/// SHOW META of all shards: reads their result sets and writes one for the whole answer.
class MergedMeta {
 public:
  /// `set`: the number of the result set.
  MergedMeta(const RawReplies& replies, std::size_t set) : replies_(replies), set_(set) {}

  /// Reads the shards' totals, times and warnings. False: that of shard `wrong` is malformed or has
  /// no total_found.
  bool read(std::size_t& wrong);

  const std::vector<ShardMeta>& shards() const { return shards_; }
  std::uint64_t total_found() const;
  bool is_lower_bound() const;

  /// Appends the merged rows as an answer in the form RowForm::raw, an array of one result set:
  /// totals, the slowest time, keywords with the sums of their documents and hits, other rows as
  /// the first shard has them, then total and time of each shard. `rows`: number of rows of the
  /// answer; `dropped` is subtracted from the documents found; `warning`: plain text, may be empty.
  void write(std::size_t rows, std::uint64_t dropped, std::string_view warning,
             std::string& out) const;

 private:
  const RawReplies& replies_;
  std::size_t set_;
  std::vector<ShardMeta> shards_;
};

}  // namespace karmad
