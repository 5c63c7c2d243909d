#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "strategies/time.hpp"

namespace karmad {

/// What is known when a mirror has given an error that no phrase explains.
struct Complaints {
  std::size_t alike = 1;   ///< mirrors of the shard that said the same of this query, this one too
  std::size_t proven = 0;  ///< of them, those that work by what other queries have shown
  bool proven_left = false;   ///< a mirror that works has not been asked yet
  bool unknown_left = false;  ///< one of which nothing is known has not been asked yet
  bool known = false;         ///< mirrors agreed on this text lately
  bool one_shard = true;      ///< no other shard will tell more
};

/// Whether they show that the query is at fault. Two mirrors that say the same do, unless a mirror
/// is left that may answer: where some mirrors of a set break alike, the next one saves the query.
/// As many witnesses as that takes are not asked for each query: two mirrors that work are enough
/// for a text on which mirrors agreed lately, three for any. One is enough for such a text where no
/// other mirror is known to work (docs/decisions/015-whose-mistake.md). Pure.
bool query_is_at_fault(const Complaints& said);

/// The errors that two mirrors gave alike lately, by their text: those texts are known to speak of
/// queries. Of at most 64 texts the time is kept, not the text. Any thread; a lock, which only
/// error answers take that no known phrase explains.
class AgreedErrors {
 public:
  static constexpr std::size_t kMost = 64;
  /// How long an error of a mirror that has no other beside it is taken for the query's.
  static constexpr Micros kRemembered = std::chrono::minutes(10);
  /// The log names a text once in this time …
  static constexpr Micros kSameLineEvery = std::chrono::minutes(1);
  /// … and at most one text in this.
  static constexpr Micros kLineEvery = std::chrono::seconds(1);

  /// Two mirrors said this. A value when the log is to say so: how many times it did not since its
  /// last line, whatever the text.
  std::optional<std::uint64_t> agreed(std::string_view text, TimePoint now);
  /// Whether two mirrors said this in the last ten minutes, and no mirror has answered such a query
  /// since.
  bool knows(std::string_view text, TimePoint now) const;
  /// A mirror answered a query of which another one said this: the text tells of the mirror.
  void refuted(std::string_view text);

 private:
  struct Entry {
    std::size_t hash = 0;
    std::optional<TimePoint> agreed;  ///< last; none: free
    std::optional<TimePoint> logged;
  };
  Entry* find(std::size_t hash);

  mutable std::mutex mutex_;
  std::array<Entry, kMost> entries_{};
  std::optional<TimePoint> logged_;
  std::uint64_t left_out_ = 0;
};

}  // namespace karmad
