#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "agent/stats/single_writer.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// The queries that a shard has answered: their number, and the fingerprints of the latest ones. A
/// query that was answered before is valid and harmless: an error that it gets later is the
/// mirror's. Each worker has its own cells, so an answer costs two plain stores; readers (only
/// after errors) look at all cells.
class AnsweredQueries {
 public:
  static constexpr std::size_t kRecent = 64;  ///< fingerprints per worker, at most
  static constexpr Micros kRemembered = std::chrono::minutes(10);

  explicit AnsweredQueries(unsigned workers = 1) : cells_(workers) {}
  AnsweredQueries& operator=(AnsweredQueries&&) = delete;

  /// Copies from `before`, which has as many workers. Before it is used.
  void take_over(const AnsweredQueries& before);

  /// On the worker's thread.
  void add(unsigned worker, std::size_t fingerprint, TimePoint now);
  std::uint64_t count() const;
  /// Whether a query with this fingerprint was answered in the last ten minutes. It may have been
  /// forgotten.
  bool contains(std::size_t fingerprint, TimePoint now) const;

 private:
  struct alignas(64) Cell {
    SingleWriter<std::uint64_t> count;
    std::array<SingleWriter<std::uint64_t>, kRecent> recent;  ///< part of the hash, and seconds
  };
  std::vector<Cell> cells_;
};

/// Requests that crashed two mirrors of a shard; they are refused for a while
/// (docs/decisions/043-requests-that-crash-mirrors.md). Keeps the fingerprints of the latest
/// kMost. Any thread; one load if there are none.
class CrashingRequests {
 public:
  static constexpr std::size_t kMost = 16;
  static constexpr Micros kRefused = std::chrono::minutes(5);

  CrashingRequests() = default;
  CrashingRequests& operator=(CrashingRequests&&) = delete;
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
