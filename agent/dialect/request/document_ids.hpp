#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/request/client_request.hpp"
#include "strategies/random_source.hpp"

namespace karmad {

/// Ids for documents that come without one (docs/decisions/036-made-ids.md): positive numbers of 63
/// bits that grow with time. No two calls get the same number; any thread may call.
class DocumentIds {
 public:
  /// Bits below the milliseconds: they hold a number that each process draws for itself.
  static constexpr unsigned kProcessBits = 22;

  /// Called before the first next(). `drawn`: a random number below 2^kProcessBits.
  void set_process(std::uint64_t drawn) { process_ = drawn; }

  std::uint64_t next(std::chrono::system_clock::time_point now) {
    const auto candidate = at(now);
    auto last = last_.load(std::memory_order_relaxed);
    std::uint64_t id = 0;
    do {
      id = std::max(last + 1, candidate);
    } while (!last_.compare_exchange_weak(last, id, std::memory_order_relaxed));
    return id;
  }

 private:
  /// Milliseconds since 2020, in 41 bits, and the number of the process.
  std::uint64_t at(std::chrono::system_clock::time_point now) const {
    using std::chrono::milliseconds;
    constexpr std::chrono::sys_days kEpoch{std::chrono::year{2020} / 1 / 1};
    const auto since = std::chrono::floor<milliseconds>(now - kEpoch).count();
    const auto bounded = std::clamp<std::int64_t>(since, 0, (std::int64_t{1} << 41) - 1);
    return (static_cast<std::uint64_t>(bounded) << kProcessBits) | process_;
  }

  std::uint64_t process_ = 0;
  std::atomic<std::uint64_t> last_{0};
};

/// A document's id as its shard depends on it: `shard_by = id`. Other programs load data with the
/// same rule (docs/decisions/032-updates-over-shards.md): it never changes.
class DocumentId {
 public:
  /// Of a number in JSON or SQL: decimal digits, perhaps after a minus; nothing if it is another
  /// number or has more than 64 bits. A negative one counts as its two's complement.
  static std::optional<DocumentId> of_number(std::string_view text);
  /// Of a text, unescaped. Decimal digits are taken as the number: engines treat both alike.
  static DocumentId of_text(std::string_view text);

  /// Of a number other than 0.
  static DocumentId of(std::uint64_t number) { return {number, Kind::whole}; }

  /// Position of its shard, from 0.
  std::size_t shard(std::size_t shards) const { return splitmix64(key_) % shards; }
  /// Whether it stands for no id, so that the document gets one: 0, or an empty text.
  bool is_missing() const { return kind_ == Kind::missing; }
  /// Whether the engine keeps it as the id of a document: a number from 1 to 2^64 - 1. For other
  /// ids the engine makes one of its own, in each mirror another.
  bool is_kept() const { return kind_ == Kind::whole; }
  /// The number that the engine keeps; 0: none.
  std::uint64_t kept_number() const { return is_kept() ? key_ : 0; }

 private:
  enum class Kind : std::uint8_t { missing, whole, other };
  DocumentId(std::uint64_t key, Kind kind) : key_(key), kind_(kind) {}

  std::uint64_t key_;
  Kind kind_;
};

/// Whether a new document gets its id from karmad (`layout.make_id`): it has none, and the shard or
/// several mirrors depend on it. In all other tables the engine makes the id.
bool needs_made_id(const std::optional<DocumentId>& id, const ShardLayout& layout);

/// Why a new document cannot have this id, as a text to follow the words "the request" or "line 3"
/// (`shown`: the id as the client wrote it); nothing if it can, or has none. Where the shard or
/// several mirrors depend on the id it must be one that the engine keeps.
std::optional<std::string> check_document_id(const std::optional<DocumentId>& id,
                                             const ShardLayout& layout, std::string_view shown);

}  // namespace karmad
