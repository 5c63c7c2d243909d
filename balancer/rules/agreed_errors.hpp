#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "strategies/time.hpp"

namespace karmad {

/// The facts about an error of a mirror that no known phrase explains.
struct Complaints {
  std::size_t alike = 1;      ///< mirrors of the shard with this error for the query, this one too
  std::size_t proven = 0;     ///< those of them that answer other queries
  bool proven_left = false;   ///< a working mirror was not asked yet
  bool unknown_left = false;  ///< a mirror of unknown state was not asked yet
  bool known = false;         ///< mirrors agreed on this text recently
  bool one_shard = true;      ///< no other shard can give further evidence
};

/// Whether the facts show that the query is at fault. The same error from two mirrors shows it,
/// unless a mirror is left that may answer: if some mirrors of a set fail in the same way, the next
/// one saves the query. To limit the attempts per query, two working mirrors are enough for a text
/// that mirrors agreed on recently, and three for any text. One is enough for such a text if no
/// other mirror is known to work (docs/decisions/015-whose-mistake.md). Pure.
bool query_is_at_fault(const Complaints& said);

/// Texts of errors that two mirrors gave alike recently, which therefore concern queries. Keeps
/// hash and time of at most 64 texts. Any thread; takes a lock, only for error answers that no
/// known phrase explains.
class AgreedErrors {
 public:
  static constexpr std::size_t kMost = 64;
  /// How long the same error from a single mirror then counts as the query's.
  static constexpr Micros kRemembered = std::chrono::minutes(10);
  /// The log names the same text at most once in this time …
  static constexpr Micros kSameLineEvery = std::chrono::minutes(1);
  /// … and any text at most once in this time.
  static constexpr Micros kLineEvery = std::chrono::seconds(1);

  /// Two mirrors gave this error. Returns a value when a log line is due: the number of lines left
  /// out since the last one, for all texts.
  std::optional<std::uint64_t> agreed(std::string_view text, TimePoint now);
  /// Whether two mirrors gave this error in the last ten minutes, and refuted() was not called
  /// since.
  bool knows(std::string_view text, TimePoint now) const;
  /// A mirror answered a query for which another one gave this error: it is the mirror's error.
  void refuted(std::string_view text);

 private:
  struct Entry {
    std::size_t hash = 0;
    std::optional<TimePoint> agreed;  ///< last time; none: the entry is free
    std::optional<TimePoint> logged;
  };
  Entry* find(std::size_t hash);

  mutable std::mutex mutex_;
  std::array<Entry, kMost> entries_{};
  std::optional<TimePoint> logged_;
  std::uint64_t left_out_ = 0;
};

}  // namespace karmad
