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
  /// Merged hits behind the row at which the shards continue that the client has got already.
  std::uint64_t skip() const { return pages_.skip(); }
  /// Refuses (400) a page of `limit` hits with too many of these.
  std::optional<ClientError> why_too_many(std::uint64_t limit) const {
    return why_too_many_scrolled(pages_, limit);
  }
  bool prefers(std::size_t shard, std::string_view mirror) const {
    return pages_.prefers(shard, mirror);
  }

  /// The token of the next page; empty if there is none: the first page is empty, or a sort value
  /// of the last hit is too long. `before`: hits that were merged and precede the page.
  std::string next_token(const std::vector<SortKey>& keys, std::size_t before,
                         std::span<const MergedHit> page,
                         std::span<const ShardReply> replies) const;

 private:
  ScrollPlan(ScrollPages pages, std::string_view expressions)
      : pages_(std::move(pages)), expressions_(expressions) {}
  ScrollKey key_of(const MergedHit& hit, const SortKey& key) const;

  ScrollPages pages_;
  std::string_view expressions_;  ///< of the request: an object, or empty
};

}  // namespace karmad
