#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"

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

/// Writes and reads karmad's scroll tokens: base64 of JSON that ends with a code which only this
/// key makes. Pure; any thread.
class ScrollSigner {
 public:
  /// `key` empty: a random key of this process.
  explicit ScrollSigner(std::string_view key);

  /// Nothing if the token would be too long.
  std::optional<std::string> token(const ScrollPosition& position) const;
  /// 400 for a token that was damaged, forged or made by another server.
  std::expected<ScrollPosition, ClientError> read(std::string_view token) const;
  /// A name for a mirror that tells clients nothing of its address.
  std::string digest(std::string_view mirror) const;

 private:
  std::string key_;
};

/// The search server's own token for a position.
std::string server_token(const std::vector<ScrollKey>& keys);

/// Where and how a query scrolls.
struct ScrollPlace {
  std::string_view table;
  std::size_t shards = 0;
  std::string_view key;       ///< of ScrollSigner
  std::string_view language;  ///< `json` or `sql`
};

/// Why a position cannot be continued there; nothing: it can.
std::optional<ClientError> check_scroll_place(const ScrollPosition& position,
                                              const ScrollPlace& place);

std::string base64_of(std::string_view bytes);
/// Nothing for a text that is not base64 (RFC 4648 section 4, padded).
std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace karmad
