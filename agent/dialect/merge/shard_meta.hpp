#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/merge/merged_rows.hpp"
#include "agent/dialect/replies/raw_replies.hpp"

namespace karmad {

/// The warning of a merged answer, plain text: what the balancer, the shards and the merge say.
class Warnings {
 public:
  /// `own`: the balancer's.
  explicit Warnings(std::string_view own) : text_(own) {}

  void add(std::string_view text);
  /// `escaped`: inside of a JSON string. Empty texts are ignored.
  void add_of_shard(std::size_t shard, std::string_view escaped);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// What SHOW META says of one shard. The views are into the reply, inside of JSON strings.
struct ShardMeta {
  bool answered = false;
  std::uint64_t total_found = 0;
  bool is_lower_bound = false;
  std::string_view time;  ///< seconds, `0.001`
  std::string_view warning;
};

/// Longest SHOW META, in bytes of JSON: connections keep it.
inline constexpr std::size_t kLongestMeta = 64 << 10;

/// SHOW META of all shards: reads their result sets and makes one for the whole answer.
class MergedMeta {
 public:
  /// `set`: the number of the result set.
  MergedMeta(const RawReplies& replies, std::size_t set) : replies_(replies), set_(set) {}

  /// Reads the shards' totals, times and warnings. False: that of shard `wrong` is malformed or has
  /// no total_found.
  bool read(std::size_t& wrong);

  const std::vector<ShardMeta>& shards() const { return shards_; }
  /// That of the shards' documents without copies, or of their groups, each counted once. Groups
  /// are a lower bound if a shard found more of them than it returned.
  TotalFound total_found(const MergedRows& rows, bool having) const;

  /// The merged rows: totals, the slowest time, keywords with the sums of their documents and hits,
  /// other rows as the first shard has them, then total and time of each shard. `count`: number of
  /// rows of the answer; `warning`: plain text, may be empty. If these are longer than
  /// kLongestMeta, totals, time and a warning of it.
  ResultSet rows(std::size_t count, const TotalFound& total, std::string_view warning) const;

 private:
  const RawReplies& replies_;
  std::size_t set_;
  std::vector<ShardMeta> shards_;
};

}  // namespace karmad
