#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/aggregations/aggregation_plan.hpp"
#include "agent/dialect/manticore_json/reply.hpp"
#include "agent/dialect/manticore_json/request.hpp"
#include "agent/dialect/manticore_json/scroll/scroll_plan.hpp"
#include "agent/dialect/manticore_json/sort_plan.hpp"
#include "agent/dialect/manticore_json/source_plan.hpp"
#include "agent/dialect/manticore_json/vectors/vector_plan.hpp"

namespace karmad {

/// One page of a search over several shards: the request for each shard, and how the page is made
/// from the replies.
class SearchPlan final : public FanOut {
 public:
  /// Refuses (400) a request that cannot be merged, with the reason. `vector`: the numbers of the
  /// vector of document(), if it has one.
  static std::expected<std::unique_ptr<SearchPlan>, ClientError> make(
      std::string_view body, const SearchRequest& request, std::size_t shards,
      const DialectSettings& settings, std::string_view vector = {});

  /// The document whose vector is searched by; nothing: it is another search.
  const std::optional<KnnDocument>& document() const { return document_; }

  void write(std::size_t shard, std::span<const std::string> tables,
             std::string& body) const override;
  bool prefers(std::size_t shard, std::string_view mirror) const override {
    return scroll_ != nullptr && scroll_->prefers(shard, mirror);
  }
  /// A token continues at every shard behind the page: the hits of a missing one would be lost.
  bool may_be_partial() const override { return scroll_ == nullptr; }
  unsigned merge_weight() const override;
  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes& notes,
                                std::string& out) const override;

 private:
  class Draft;

  std::optional<BadReply> merge_valid(std::span<const ShardReply> replies, const MergeNotes& notes,
                                      std::string& out) const;
  void add_of_shards(std::span<const ReplyHead> heads, std::string& out) const;

  std::vector<std::string> around_table_;  // a shard's request, split at the table's name
  std::size_t offset_ = 0;
  std::size_t limit_ = 0;  // of the page, at most max_matches
  std::vector<SortKey> keys_;
  SourcePlan source_;
  AggregationPlan aggregations_;
  Collation collation_ = Collation::libc_ci;
  std::optional<std::uint64_t> most_found_;  // `hits.total` at most
  std::size_t nearest_ = 0;  // the sort is not by distance: keep the nearest; 0: nothing to do
  std::optional<KnnDocument> document_;
  std::unique_ptr<ScrollPlan> scroll_;  // null: none
  bool reads_tail_ = false;             // of the replies, what follows the hits
};

/// Appends a mirror's table names as one JSON string, separated by commas.
void append_tables(std::string& out, std::span<const std::string> tables);

}  // namespace karmad
