#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "agent/mirrors/former_places.hpp"
#include "agent/stats/outcome.hpp"
#include "strategies/candidates.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// What a shard's own attempts have shown of one of its mirrors: a value of 32 bits. Pings and
/// other shards do not count, a mirror that answers them may fail this one all the same.
struct MirrorStanding {
  /// Answers in a row that prove a mirror which has failed: one that fails every second answer has
  /// so many once in 256 times.
  static constexpr std::uint8_t kProof = 8;

  bool known = false;        ///< an attempt has ended there
  bool unreachable = false;  ///< … the last one without a connection
  std::uint8_t answers = 0;  ///< in a row; not counted beyond `needed`
  std::uint8_t needed = 1;   ///< so many prove that it works

  /// It works: nothing that it was asked lately has failed.
  bool proven() const { return known && answers >= needed; }
  bool failing() const { return known && answers == 0; }

  /// After an attempt with this outcome. One answer is proof where nothing was known, and where
  /// there was no connection: a mirror that is back answers. After a wrong answer it is no proof.
  MirrorStanding after(Outcome outcome) const;

  bool operator==(const MirrorStanding&) const = default;
};

/// How the mirrors of one shard stand, shared by all workers: relaxed atomics, any thread calls
/// anything. A mirror that is proven costs an attempt a load, no store.
class Standings {
 public:
  explicit Standings(std::size_t mirrors) : cells_(mirrors) {}

  /// How mirrors stand that are still there goes on. Before it is in use.
  void take_over(const Standings& before, const FormerPlaces& places) noexcept;

  /// An attempt that is under way at a mirror, from when it is made until it has ended.
  class InFlightGuard {
   public:
    InFlightGuard(Standings& standings, std::size_t mirror);
    InFlightGuard(InFlightGuard&& other) noexcept
        : standings_(std::exchange(other.standings_, nullptr)),
          mirror_(other.mirror_),
          counted_(other.counted_) {}
    InFlightGuard& operator=(InFlightGuard&&) = delete;
    ~InFlightGuard() {
      if (standings_ != nullptr) standings_->left(mirror_, counted_);
    }

   private:
    Standings* standings_;
    std::size_t mirror_;
    bool counted_;  ///< nothing was known of the mirror when it began
  };

  /// An attempt has ended.
  void ended(std::size_t mirror, Outcome outcome) noexcept;

  MirrorStanding of(std::size_t mirror) const noexcept;
  /// Those that work, of which nothing is known, and at which an attempt that will tell is under
  /// way (these are among the unknown).
  struct Groups {
    Candidates proven;
    Candidates unknown;
    Candidates told_soon;
    Candidates failing;  ///< the last answer was none
  };
  Groups groups() const noexcept;

  /// Whether any mirror could not be reached when it was last asked; costs a load.
  bool any_unreachable() const noexcept {
    return unreachable_.load(std::memory_order_relaxed) != 0;
  }
  Candidates unreachable() const noexcept;
  /// One of these mirrors that was not probed for `every`; the caller has it, and sends its request
  /// there. Nothing: none is due.
  std::optional<std::size_t> try_probe(Candidates unreachable, TimePoint now,
                                       Micros every) noexcept;

  /// Who waits to be told how a mirror stands is counted; when something was told, take_news() is
  /// true once.
  void wait_begins() noexcept { waiting_.fetch_add(1); }
  void wait_ends() noexcept { waiting_.fetch_sub(1); }
  /// A retry has ended: another one may be made in its place.
  void retry_ended() noexcept { tell(); }
  bool take_news() noexcept {
    return news_.load(std::memory_order_relaxed) && news_.exchange(false);
  }

 private:
  struct alignas(64) Cell {
    std::atomic<std::uint32_t> standing{pack({})};
    std::atomic<std::uint32_t> under_way{0};  ///< begun while nothing was known
    std::atomic<std::int64_t> probed{0};      ///< µs on the master's clock
  };
  static constexpr std::uint32_t pack(const MirrorStanding& s) {
    return std::uint32_t{s.known} | std::uint32_t{s.unreachable} << 1 |
           std::uint32_t{s.answers} << 8 | std::uint32_t{s.needed} << 16;
  }
  static constexpr MirrorStanding unpack(std::uint32_t bits) {
    return {.known = (bits & 1) != 0,
            .unreachable = (bits & 2) != 0,
            .answers = static_cast<std::uint8_t>(bits >> 8),
            .needed = static_cast<std::uint8_t>(bits >> 16)};
  }
  void left(std::size_t mirror, bool counted) noexcept;
  void tell() noexcept;

  std::vector<Cell> cells_;
  std::atomic<std::uint32_t> unreachable_{0};  ///< how many mirrors are
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<bool> news_{false};
};

}  // namespace karmad
