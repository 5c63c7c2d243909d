#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/manticore_json/scroll/scroll_token.hpp"

namespace karmad {

/// What a plan must know of the table and of the instance for a scroll.
struct ScrollPlace {
  std::string_view table;
  std::size_t shards = 0;
  std::string_view key;
};

/// The key with its JSON value in a hit or row; nothing for a value that servers cannot continue
/// after. Ids may be written as strings.
std::optional<ScrollKey> scroll_key(std::string_view attribute, bool descending,
                                    std::string_view value);

/// One page of a query that pages with tokens. It continues at every shard after the last row of
/// the merged page before, at the mirror that gave that page.
class ScrollPages {
 public:
  /// The first page, in the order `sort`.
  ScrollPages(const ScrollPlace& place, std::string_view sort);
  /// The page behind a token. Refuses (400) one that cannot be continued here.
  static std::expected<ScrollPages, ClientError> behind(std::string_view token,
                                                        const ScrollPlace& place);

  bool is_first() const { return given_.empty(); }
  /// The order of the first page, in the client's words.
  const std::string& sort() const { return position_.sort; }
  /// The order and the values of the token; empty: it is the first page.
  const std::vector<ScrollKey>& keys() const { return position_.keys; }
  /// Whether the mirror answered for this shard on the page before.
  bool prefers(std::size_t shard, std::string_view mirror) const;

  /// The token of the page behind the row with these values. Empty: it would be too long.
  std::string next_token(std::vector<ScrollKey> keys, std::span<const ShardReply> replies) const;
  /// The token of this page, which an empty page has as well.
  const std::string& given() const { return given_; }

 private:
  ScrollSigner signer_;
  ScrollPosition position_;
  std::string given_;
};

}  // namespace karmad
