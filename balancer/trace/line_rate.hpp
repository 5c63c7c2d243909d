#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "strategies/time.hpp"

namespace karmad {

/// Bounds the lines of one kind in a log: so many in any second that begins with one. Pure.
class LineRate {
 public:
  explicit LineRate(std::uint32_t per_second) : per_second_(per_second) {}

  /// A line is due at `now`: how many were left out since the last one that was written; nothing
  /// when this one is to be left out as well.
  std::optional<std::uint64_t> may_write(TimePoint now) {
    if (!began_ || now - *began_ >= std::chrono::seconds(1)) {
      began_ = now;
      written_ = 0;
    }
    if (written_ >= per_second_) {
      ++left_out_;
      return std::nullopt;
    }
    ++written_;
    return std::exchange(left_out_, 0);
  }

 private:
  const std::uint32_t per_second_;
  std::optional<TimePoint> began_;
  std::uint32_t written_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace karmad
