#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "agent/stats/stats_writer.hpp"

namespace karmad {

/// Why a request gets no more memory.
enum class MemoryDenial : std::uint8_t {
  none,
  refused,   ///< it is new, and the limit is nearly reached
  given_up,  ///< it held most when the limit was reached
};

/// What the limit says to a request that asks for memory.
enum class MemoryVerdict : std::uint8_t {
  granted,
  refused,     ///< new work is not begun
  over_limit,  ///< the largest request has to be given up
};

/// What becomes of a reservation.
enum class MemoryGrant : std::uint8_t {
  granted,
  later,  ///< ask again in the next turn of the loop: requests were given up and release theirs
  denied,
};

/// Buffers up to this size are not counted: they are bounded by the number of connections.
inline constexpr std::size_t kUncountedBuffer = 16 << 10;
/// A request that holds at most this much is small: it is not refused before the limit is reached.
inline constexpr std::size_t kSmallRequest = 128 << 10;

/// The rule of `memory_limit`, in bytes. A request that holds `held` wants to hold `wanted` while
/// the process uses `used`. Above nine tenths of the limit a request that is small now does not
/// become a large one, so that those under way can end; the limit itself is not exceeded. 0: there
/// is no limit.
MemoryVerdict judge_memory(std::uint64_t limit, std::uint64_t used, std::uint64_t held,
                           std::uint64_t wanted);

/// The memory that all workers hold for requests, and its limit. Thread-safe. Workers add what they
/// hold in steps, so the sum may lack up to 64 KB for each of them.
class MemoryLimit {
 public:
  /// 0: no limit.
  void limit(std::uint64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }
  std::uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  std::uint64_t used() const;
  /// The most that was used at a time.
  std::uint64_t peak() const;
  void add(std::int64_t bytes);

 private:
  alignas(64) std::atomic<std::int64_t> used_{0};
  std::atomic<std::int64_t> peak_{0};
  std::atomic<std::uint64_t> limit_{0};
};

void write(StatsWriter& out, const MemoryLimit& memory);

class MemoryHolder;

/// What the requests of one worker hold. Used by its thread only. Without `join` there is no limit.
class MemoryLedger {
 public:
  MemoryLedger() = default;
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  void join(MemoryLimit& limit) { limit_ = &limit; }

 private:
  friend class MemoryHolder;
  friend class MemoryReservation;

  /// Grants `more` bytes to `asker`, if need be by giving up larger requests of this worker.
  MemoryGrant ask(MemoryHolder& asker, std::uint64_t more);
  /// Counts `more` bytes that `holder` has already. It may be given up for them.
  void charge(MemoryHolder& holder, std::uint64_t more);
  void give_back(MemoryHolder& holder, std::uint64_t bytes);

  void take(MemoryHolder& holder, std::uint64_t bytes);
  bool make_room(MemoryHolder& asker, std::uint64_t more);
  void deny(MemoryHolder& holder, MemoryDenial why);
  /// Of the process, without what those hold that are given up.
  std::uint64_t used() const;
  void publish();

  MemoryLimit* limit_ = nullptr;
  std::vector<MemoryHolder*> holders_;  ///< those that hold anything
  std::int64_t held_ = 0;
  std::int64_t published_ = 0;  ///< of it, what `limit_` knows of
  std::uint64_t leaving_ = 0;   ///< of it, what denied requests hold
};

/// The memory of one request: its body, the replies to it, its answer. Lives on one worker, and
/// longer than the reservations made for it. Costs nothing as long as it holds nothing.
class MemoryHolder {
 public:
  explicit MemoryHolder(MemoryLedger& ledger) : ledger_(ledger) {}
  MemoryHolder(const MemoryHolder&) = delete;
  MemoryHolder& operator=(const MemoryHolder&) = delete;
  virtual ~MemoryHolder();

  MemoryLedger& ledger() { return ledger_; }
  std::uint64_t held() const { return held_; }
  /// Why it gets no more memory. Once denied, it is denied everything until `forgive`.
  MemoryDenial denial() const { return denial_; }
  bool denied() const { return denial_ != MemoryDenial::none; }
  void forgive();

  /// Whether so many bytes would be granted now. Denied and told as refused if they would not.
  bool admits(std::uint64_t bytes);

 private:
  friend class MemoryLedger;

  /// It was denied memory: it has to end and to release what it holds. Called while others work, so
  /// it may only take notice, and do the rest in a turn of its own.
  virtual void on_denied(MemoryDenial why) = 0;

  MemoryLedger& ledger_;
  std::uint64_t held_ = 0;
  std::size_t place_ = 0;  ///< in the ledger's list
  MemoryDenial denial_ = MemoryDenial::none;
};

/// The share of one buffer in what a request holds; given back when it goes. Movable, like the
/// buffer. Without a holder nothing is counted. Capacities up to kUncountedBuffer count as nothing.
class MemoryReservation {
 public:
  MemoryReservation() = default;
  MemoryReservation(MemoryReservation&& other) noexcept
      : holder_(other.holder_), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryReservation& operator=(MemoryReservation&& other) noexcept {
    if (this == &other) return *this;
    release();
    holder_ = other.holder_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~MemoryReservation() { release(); }

  /// Asks whether the buffer may have this capacity. Denied: the holder was told.
  MemoryGrant resize(MemoryHolder* holder, std::size_t capacity);
  /// Counts a buffer that has this capacity already.
  void charge(MemoryHolder* holder, std::size_t capacity);
  void release() {
    if (bytes_ != 0) drop();
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void drop();

  MemoryHolder* holder_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace karmad
