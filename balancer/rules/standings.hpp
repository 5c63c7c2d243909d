#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/health/former_places.hpp"
#include "agent/stats/outcome.hpp"
#include "strategies/candidates.hpp"
#include "strategies/read_preference.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// The state of one mirror as shown by the attempts of one shard: a value of 32 bits. Pings and
/// other shards do not count, because a mirror that answers them may still fail this shard.
struct MirrorHealth {
  /// Answers in a row that prove a mirror after a failure. A mirror that fails every second request
  /// has that many once in 256 times.
  static constexpr std::uint8_t kProof = 8;
  /// Failures in a row after which it is down: a single one may be the query's or chance.
  static constexpr std::uint8_t kDown = 3;

  bool known = false;         ///< an attempt has ended there
  bool unreachable = false;   ///< the last attempt got no connection
  bool silent = false;        ///< a search timed out, and none was answered since it was sent
  std::uint8_t answers = 0;   ///< in a row; counted up to `needed`
  std::uint8_t needed = 1;    ///< answers in a row that prove it
  std::uint8_t failures = 0;  ///< in a row; counted up to kDown

  /// It works: no recent attempt failed.
  bool proven() const { return known && answers >= needed; }
  bool failing() const { return known && answers == 0; }
  bool down() const { return failures >= kDown; }

  /// The state after an attempt; `silent`: it timed out, and the mirror has answered no other
  /// search since it was sent. One answer proves an unknown mirror and one that was unreachable;
  /// after a wrong answer kProof answers are needed.
  MirrorHealth after(Outcome outcome, bool silent = false) const;

  bool operator==(const MirrorHealth&) const = default;
};

/// The standings of the mirrors of one shard, shared by all workers: relaxed atomics, any thread.
/// For a proven mirror an attempt costs a load and no store.
class SetHealth {
 public:
  explicit SetHealth(std::size_t mirrors) : cells_(mirrors) {}

  /// Takes over the state of mirrors that existed before. Call before it is used.
  void take_over(const SetHealth& before, const FormerPlaces& places) noexcept;

  /// Restores the state that a mirror had in a former process. Before it is used, once per mirror.
  void restore(std::size_t mirror, const MirrorHealth& standing) noexcept;

  /// Counts an attempt in progress at a mirror while it lives.
  class InFlightGuard {
   public:
    InFlightGuard(SetHealth& standings, std::size_t mirror);
    InFlightGuard& operator=(InFlightGuard&&) = delete;
    ~InFlightGuard() {
      if (counted_) standings_.left(mirror_);
    }

   private:
    SetHealth& standings_;
    std::size_t mirror_;
    bool counted_;  ///< the mirror was unknown when the attempt started
  };

  /// An attempt has ended (MirrorHealth::after()). A mirror that becomes silent is due for a
  /// probe at once: perhaps only that search takes long.
  void ended(std::size_t mirror, Outcome outcome, bool silent = false) noexcept;

  MirrorHealth of(std::size_t mirror) const noexcept {
    return unpack(cells_[mirror].standing.load(std::memory_order_relaxed));
  }
  /// Mirrors by state. `told_soon`: unknown mirrors with an attempt in progress that will show
  /// their state.
  struct Groups {
    Candidates proven;
    Candidates unknown;
    Candidates told_soon;
    Candidates failing;  ///< the last attempt was not answered
    Candidates down;     ///< nor were those before it

    Candidates hopeful() const { return proven | unknown; }
  };
  Groups groups() const noexcept;

  /// Whether any mirror is silent; one load.
  bool any_silent() const noexcept { return silent_count_.load(std::memory_order_relaxed) != 0; }
  Candidates silent() const noexcept { return all_that(&MirrorHealth::silent); }
  /// Whether any mirror is down(); one load.
  bool any_down() const noexcept { return down_count_.load(std::memory_order_relaxed) != 0; }

  /// Whether any mirror was unreachable at its last attempt; one load.
  bool any_unreachable() const noexcept {
    return unreachable_.load(std::memory_order_relaxed) != 0;
  }
  Candidates unreachable() const noexcept { return all_that(&MirrorHealth::unreachable); }
  /// One of these mirrors without a probe for `every`; the caller must send its request there.
  /// Nothing: no probe is due.
  std::optional<std::size_t> try_probe(Candidates unreachable, TimePoint now,
                                       Micros every) noexcept;

  /// Counts requests that wait for a change of a mirror's state. take_change() is true once after
  /// such a change.
  void wait_begins() noexcept { waiting_.fetch_add(1); }
  void wait_ends() noexcept { waiting_.fetch_sub(1); }
  /// A retry has ended: another one may start in its place.
  void retry_ended() noexcept { notify_waiters(); }
  bool take_change() noexcept {
    return changed_.load(std::memory_order_relaxed) && changed_.exchange(false);
  }

 private:
  struct alignas(64) Cell {
    std::atomic<std::uint32_t> standing{pack({})};
    std::atomic<std::uint32_t> under_way{0};  ///< started while the mirror was unknown
    std::atomic<std::int64_t> probed{0};      ///< µs of the process's clock
  };
  static constexpr std::uint32_t pack(const MirrorHealth& s) {
    return std::uint32_t{s.known} | std::uint32_t{s.unreachable} << 1 |
           std::uint32_t{s.silent} << 2 | std::uint32_t{s.answers} << 8 |
           std::uint32_t{s.needed} << 16 | std::uint32_t{s.failures} << 24;
  }
  static constexpr MirrorHealth unpack(std::uint32_t bits) {
    return {.known = (bits & 1) != 0,
            .unreachable = (bits & 2) != 0,
            .silent = (bits & 4) != 0,
            .answers = static_cast<std::uint8_t>(bits >> 8),
            .needed = static_cast<std::uint8_t>(bits >> 16),
            .failures = static_cast<std::uint8_t>(bits >> 24)};
  }
  void count_in(const MirrorHealth& standing) noexcept;
  Candidates all_that(bool MirrorHealth::*are) const noexcept {
    return Candidates::first(cells_.size()).where([&](std::size_t i) { return of(i).*are; });
  }
  void left(std::size_t mirror) noexcept;
  void notify_waiters() noexcept;

  std::vector<Cell> cells_;
  std::atomic<std::uint32_t> unreachable_{0};  ///< number of such mirrors
  std::atomic<std::uint32_t> silent_count_{0};
  std::atomic<std::uint32_t> down_count_{0};
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<bool> changed_{false};
};

/// The mirrors for a retry at an untried mirror, and its condition.
struct RetryTarget {
  enum class On : std::uint8_t {
    nothing,  ///< no condition
    budget,   ///< the budget must allow it
    news,     ///< wait: an attempt in progress will show the state of these mirrors
  };
  On on = On::budget;
  Candidates among;  ///< empty: any
};

/// Rule: no query is lost while a working mirror is untried, and a set without working mirrors gets
/// hardly more than its normal load (docs/decisions/012-retries-onto-proven-mirrors.md).
///
/// A retry onto a working mirror is free, since it is not wasted load, and so is one onto a mirror
/// of a later level of the preference: it is better than a paid one onto a failing mirror. If none
/// is known to work, one attempt is made at each mirror of unknown state, paid for if the budget is
/// `funded`; other failed queries wait for its result. All other retries are paid for.
///
/// `untried`: by the order of preference. `avoided`: those with a reason against them (a left zone,
/// a mark); they are used if none of the others works or is unknown. Pure.
RetryTarget retry_target(const PreferenceLevels& untried, Candidates avoided,
                         const SetHealth::Groups& stand, bool funded);

}  // namespace karmad
