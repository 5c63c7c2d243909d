#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/mirrors/mirror_set.hpp"

namespace karmad {

/// A generation that is not known is less than any other.
using Generation = std::optional<std::uint64_t>;

/// The generations that mirrors of a set reported in answers to one query.
class ToldGenerations {
 public:
  void add(std::size_t mirror, Generation generation);
  /// The newest generation the mirror is known to have, from these answers and from pings.
  Generation known(std::size_t mirror, const SetView& view) const;

 private:
  std::vector<std::pair<std::size_t, std::uint64_t>> told_;
};

/// Mirrors of one shard whose answers showed that they lack an update. A mark ends at its time, or
/// when a ping shows that the mirror has the update. Relaxed atomics: any thread.
class BehindMarks {
 public:
  explicit BehindMarks(std::size_t mirrors) : marks_(mirrors) {}

  /// Takes over the marks of mirrors that existed before.
  void take_over(const BehindMarks& before, const FormerPlaces& places);
  /// The mirror lacks `generation`.
  void mark(std::size_t mirror, std::uint64_t generation, TimePoint until);
  /// The mirrors known to lack `generation`.
  Candidates behind(const SetView& view, std::uint64_t generation, TimePoint now) const;
  /// The mirrors that lack an update that another mirror has.
  Candidates behind_others(const SetView& view, TimePoint now) const {
    return behind(view, UINT64_MAX, now);
  }

 private:
  struct Mark {
    std::atomic<std::int64_t> until{0};  // µs of the process's clock
    std::atomic<std::uint64_t> generation{0};
  };
  std::vector<Mark> marks_;
};

}  // namespace karmad
