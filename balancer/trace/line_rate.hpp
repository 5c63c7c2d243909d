#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "strategies/time.hpp"

namespace karmad {

/// Limits the log lines of one kind: that many in any second that starts with a line. Pure.
class LineRate {
 public:
  explicit LineRate(std::uint32_t per_second) : per_second_(per_second) {}

  /// A line is due at `now`: the number of lines left out since the last written one; nothing if
  /// this one must be left out too.
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
