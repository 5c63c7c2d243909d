#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/client_request.hpp"

namespace karmad {

/// One key of the order of a scroll, in the words of the search server's tokens, with its value in
/// the last hit of a page.
struct ScrollKey {
  std::string attribute;  ///< `price`, `id`, `weight()`
  bool descending = false;
  std::string type;   ///< `int`, `float` or `string`; empty: no server continues behind the value
  std::string value;  ///< as JSON

  bool operator==(const ScrollKey&) const = default;
};

/// Where a scroll over several shards continues.
struct ScrollPosition {
  std::string table;
  std::size_t shards = 0;
  std::string sort;      ///< of the request; empty: there was none
  std::string language;  ///< of `sort`: `json` or `sql`
  /// The row behind which the shards continue; empty: at their first row.
  std::vector<ScrollKey> keys;
  std::uint64_t skip = 0;            ///< merged rows behind `keys` that the client has got
  std::vector<std::string> mirrors;  ///< by shard: digest of the mirror that answered, or empty
};

/// Longest token that is read or written.
inline constexpr std::size_t kLongestScrollToken = 64 << 10;

/// The search server's own token for a position. `order`: the text of ORDER BY, which the server
/// compares with that of the statement, letter case included; empty: that of a search in JSON.
std::string server_token(const std::vector<ScrollKey>& keys, std::string_view order = {});
/// Whether a search server has made the token.
bool is_server_token(std::string_view token);

/// Where and how a query scrolls.
struct ScrollPlace {
  std::string_view table;
  std::size_t shards = 0;
  std::string_view key;       ///< which signs the tokens; empty: a random one of this process
  std::string_view language;  ///< `json` or `sql`
};

/// The key with its JSON value in a hit or row. Ids may be written as strings.
ScrollKey scroll_key(std::string_view attribute, bool descending, std::string_view value);

/// The rows of a merged page, as far as their order is concerned. The function is called for the
/// last rows only, mostly for the last one.
struct ScrolledPage {
  std::size_t before = 0;  ///< merged rows before the page, behind the keys of its token
  std::size_t rows = 0;
  std::size_t keys = 0;
  std::function<ScrollKey(std::size_t row, std::size_t key)> value{};
};

/// One page of a query that pages with tokens: which rows the shards are asked for, which of the
/// merged ones the client has got already, and the token of the next page. Shards continue behind
/// the last row of the page before, if its values are exact in an answer: whole numbers, texts,
/// ids. A real number is printed with few digits, so that a shard could take the row for one before
/// or behind it; then the shards continue before the rows that have nearly its value, and the
/// client does not get again what it has got of them.
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
  /// The keys behind which the shards continue; empty: at their first row.
  const std::vector<ScrollKey>& keys() const { return position_.keys; }
  /// Merged rows behind `keys` that the client has got.
  std::uint64_t skip() const { return position_.skip; }
  /// Whether the mirror answered for this shard on the page before.
  bool prefers(std::size_t shard, std::string_view mirror) const;

  /// The token of the page behind this one, which has a row at least. Empty: it would be too long.
  std::string next_token(const ScrolledPage& page, std::span<const ShardReply> replies) const;
  /// The token of this page, which an empty page has as well.
  const std::string& given() const { return given_; }

 private:
  std::string key_;  ///< which signs the tokens
  ScrollPosition position_;
  std::string given_;
};

/// Most rows that the shards are asked for a page. With real numbers, or values that no server
/// continues behind, it bounds the rows with nearly the same values.
inline constexpr std::uint64_t kMostScrolled = 100'000;

/// Why so many rows are not asked for; nothing: they are.
std::optional<ClientError> why_too_many_scrolled(const ScrollPages& pages, std::uint64_t limit);

}  // namespace karmad
