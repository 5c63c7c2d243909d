#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "strategies/time.hpp"

namespace karmad {

/// Bytes of a request or an answer that a client must move per `network_timeout`.
inline constexpr std::size_t kPerTimeout = 64 << 10;

/// How long to wait for a client that takes in an answer: `timeout`, and twice as long for every
/// kPerTimeout that it has acknowledged, but at no time longer than kMost timeouts ahead. What
/// counts is what the client's system has acknowledged, not what this one holds for it. A system
/// acknowledges in steps, which may be far apart when its buffer is large and its program reads
/// slowly: therefore twice, so that one that reads kPerTimeout in each timeout is never given up.
/// Pure.
class ReaderPatience {
 public:
  static constexpr int kMost = 6;

  ReaderPatience(Micros timeout, std::uint64_t acknowledged, TimePoint now)
      : timeout_(timeout), acknowledged_(acknowledged), until_(now + timeout) {}

  /// So much has been acknowledged by now, in all.
  void progress(std::uint64_t acknowledged, TimePoint now) {
    if (acknowledged <= acknowledged_) return;
    constexpr std::uint64_t most = kMost * kPerTimeout;
    const auto more = static_cast<std::int64_t>(std::min(acknowledged - acknowledged_, most));
    acknowledged_ = acknowledged;
    const auto gained = 2 * timeout_ * more / static_cast<std::int64_t>(kPerTimeout);
    until_ = std::min(until_ + gained, now + kMost * timeout_);
  }
  TimePoint until() const { return until_; }

 private:
  Micros timeout_;
  std::uint64_t acknowledged_;
  TimePoint until_;
};

}  // namespace karmad
