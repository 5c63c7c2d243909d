#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/manticore_json/merge_hits.hpp"
#include "agent/dialect/manticore_json/request.hpp"
#include "agent/dialect/manticore_json/scroll/scroll_pages.hpp"
#include "agent/dialect/manticore_json/sort_plan.hpp"

namespace karmad {

/// A search that pages with tokens (`options.scroll`).
class ScrollPlan {
 public:
  /// Null: the search does not scroll. Refuses (400) a token that cannot be continued here.
  static std::expected<std::unique_ptr<ScrollPlan>, ClientError> make(std::string_view body,
                                                                      const SearchRequest& request,
                                                                      const ScrollPlace& place);

  /// The request's `sort`, or that of the page before.
  std::string_view sort() const { return pages_.sort(); }
  /// Makes shards sort by all keys, so that the order is total. Refuses (400) an order that a
  /// server cannot continue.
  std::optional<ClientError> complete(SortPlan& sort);
  /// The value of `options.scroll` for the shards.
  std::string option() const;
  bool prefers(std::size_t shard, std::string_view mirror) const {
    return pages_.prefers(shard, mirror);
  }

  /// The token of the next page; empty if there is none: the page is empty, or a sort value of its
  /// last hit is too long.
  std::string next_token(const std::vector<SortKey>& keys, std::span<const MergedHit> page,
                         std::span<const ShardReply> replies) const;

 private:
  explicit ScrollPlan(ScrollPages pages) : pages_(std::move(pages)) {}

  ScrollPages pages_;
};

}  // namespace karmad
