#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "strategies/time.hpp"

namespace karmad {

/// Blocks of `ha_period_karma` are numbered from the clock's epoch, so all workers use the same.
using BlockNumber = std::int64_t;

/// The block that contains `now`. `period` must be positive.
constexpr BlockNumber block_of(TimePoint now, Micros period) noexcept {
  const auto since = now.time_since_epoch().count();
  const auto number = since / period.count();
  return since % period.count() < 0 ? number - 1 : number;
}

/// Whether the current block is younger than half a period: then the block before it is counted as
/// well (HA-010).
constexpr bool is_young(TimePoint now, Micros period) noexcept {
  const auto age = now.time_since_epoch() - block_of(now, period) * period;
  return 2 * age < period;
}

/// Caches the result of `block_of` for one thread: divides once per block.
class BlockOfNow {
 public:
  BlockNumber at(TimePoint now, Micros period) noexcept {
    const auto age = now.time_since_epoch() - begin_;
    if (age < Micros::zero() || age >= period) {
      number_ = block_of(now, period);
      begin_ = number_ * period;
    }
    return number_;
  }

 private:
  BlockNumber number_ = 0;
  Micros begin_{};
};

/// The last `kSlots` blocks of one worker. The owner clears a slot when a new block first needs it.
/// A reader at that moment may miss a part of the old block, nothing else. `Block` has `clear()`
/// and consists of `SingleWriter` numbers.
template <class Block, std::size_t kSlots>
class PeriodRing {
 public:
  /// Owner only. The block to add to; nullptr if it is too old and its slot is reused.
  Block* claim(BlockNumber number) noexcept {
    Slot& slot = slots_[index(number)];
    const auto held = slot.number.load(std::memory_order_relaxed);
    if (held == number) return &slot.block;
    if (held > number) return nullptr;
    slot.number.store(kNone, std::memory_order_relaxed);
    slot.block.clear();
    slot.number.store(number, std::memory_order_release);  // publishes the zeros
    return &slot.block;
  }

  /// Any thread. The block; nullptr if it is empty or its slot is reused.
  const Block* find(BlockNumber number) const noexcept {
    const Slot& slot = slots_[index(number)];
    return slot.number.load(std::memory_order_acquire) == number ? &slot.block : nullptr;
  }

 private:
  static constexpr BlockNumber kNone = std::numeric_limits<BlockNumber>::min();

  struct Slot {
    std::atomic<BlockNumber> number{kNone};
    Block block;
  };

  static std::size_t index(BlockNumber number) noexcept {
    constexpr auto slots = static_cast<BlockNumber>(kSlots);
    return static_cast<std::size_t>((number % slots + slots) % slots);
  }

  std::array<Slot, kSlots> slots_;
};

}  // namespace karmad
