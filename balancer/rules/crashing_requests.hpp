#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>

#include "strategies/time.hpp"

namespace karmad {

/// Requests that crashed two mirrors of a shard; they are refused for a while
/// (docs/decisions/043-requests-that-crash-mirrors.md). Keeps the fingerprints of the latest
/// kMost. Any thread; one load if there are none.
class CrashingRequests {
 public:
  static constexpr std::size_t kMost = 16;
  static constexpr Micros kRefused = std::chrono::minutes(5);

  CrashingRequests() = default;
  CrashingRequests(const CrashingRequests&) = delete;
  CrashingRequests& operator=(const CrashingRequests&) = delete;
  /// Copies all. Before it is used.
  void take_over(const CrashingRequests& before);

  /// Whether there ever was one.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void add(std::size_t fingerprint, TimePoint now);
  /// Whether the request crashed two mirrors in the last minutes.
  bool contains(std::size_t fingerprint, TimePoint now) const;

 private:
  struct Entry {
    std::size_t fingerprint = 0;
    std::optional<TimePoint> added;  ///< none: the entry is free
  };
  mutable std::mutex mutex_;
  std::array<Entry, kMost> entries_{};
  std::atomic<bool> any_{false};
};

}  // namespace karmad
