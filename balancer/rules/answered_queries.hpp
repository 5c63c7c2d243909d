#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
  AnsweredQueries(const AnsweredQueries&) = delete;
  AnsweredQueries& operator=(const AnsweredQueries&) = delete;

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

}  // namespace karmad
