#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "strategies/time.hpp"

namespace karmad {

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
