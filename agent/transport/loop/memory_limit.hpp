#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "agent/stats/stats_writer.hpp"

namespace karmad {

/// Why a request is denied more memory.
enum class MemoryDenial : std::uint8_t {
  none,
  refused,   ///< a new request, and the limit is nearly reached
  given_up,  ///< it was the largest when the limit was reached
};

/// The decision about a request for memory.
enum class MemoryVerdict : std::uint8_t {
  granted,
  refused,     ///< new work must not start
  over_limit,  ///< the largest request must be cancelled
};

/// The result of a reservation.
enum class MemoryGrant : std::uint8_t {
  granted,
  later,  ///< ask again in the next turn: cancelled requests release memory
  denied,
};

/// Smaller buffers are not counted: the number of connections bounds them.
inline constexpr std::size_t kUncountedBuffer = 16 << 10;
/// A request that holds at most this much is refused only when the limit itself is reached.
inline constexpr std::size_t kSmallRequest = 128 << 10;

/// The rule of `memory_limit`, in bytes. A request that holds `held` asks for a total of `wanted`
/// while the process uses `used`. Above nine tenths of the limit a small request may not become
/// large, so that those in progress can end. The limit itself is never exceeded. 0: unlimited.
MemoryVerdict judge_memory(std::uint64_t limit, std::uint64_t used, std::uint64_t held,
                           std::uint64_t wanted);

/// The memory that all workers hold for requests, and its limit. Thread-safe. Workers report in
/// steps, so the sum may miss up to 64 KB per worker.
class MemoryLimit {
 public:
  /// 0: unlimited.
  void limit(std::uint64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }
  std::uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  std::uint64_t used() const;
  /// The highest use so far.
  std::uint64_t peak() const;
  void add(std::int64_t bytes);

 private:
  alignas(64) std::atomic<std::int64_t> used_{0};
  std::atomic<std::int64_t> peak_{0};
  std::atomic<std::uint64_t> limit_{0};
};

void write(StatsWriter& out, const MemoryLimit& memory);

class MemoryHolder;

/// The memory held by one worker's requests. Its thread only. Without `join` unlimited.
class MemoryLedger {
 public:
  MemoryLedger& operator=(MemoryLedger&&) = delete;

  void join(MemoryLimit& limit) { limit_ = &limit; }

 private:
  friend class MemoryHolder;
  friend class MemoryReservation;
  using Take = MemoryGrant (MemoryLedger::*)(MemoryHolder& holder, std::uint64_t more);

  /// Grants `more` bytes to `asker`; may cancel idle holders and larger requests of this worker for
  /// it.
  MemoryGrant ask(MemoryHolder& asker, std::uint64_t more);
  /// Counts `more` bytes that `holder` already has. `holder` may be cancelled for it.
  MemoryGrant charge(MemoryHolder& holder, std::uint64_t more);
  void give_back(MemoryHolder& holder, std::uint64_t bytes);

  void take(MemoryHolder& holder, std::uint64_t bytes);
  /// The verdict on `more` bytes for `asker`; cancels idle holders for it, the largest first, if
  /// that makes room.
  MemoryVerdict judge(const MemoryHolder& asker, std::uint64_t more);
  bool end_idle(const MemoryHolder& asker, std::uint64_t bytes);
  bool make_room(MemoryHolder& asker, std::uint64_t more);
  void deny(MemoryHolder& holder, MemoryDenial why);
  /// Of the process, without the memory of cancelled requests.
  std::uint64_t used() const;
  void publish();

  MemoryLimit* limit_ = nullptr;
  std::vector<MemoryHolder*> holders_;  ///< those that hold memory
  std::int64_t held_ = 0;
  std::int64_t published_ = 0;  ///< part of `held_` reported to `limit_`
  std::uint64_t leaving_ = 0;   ///< part of `held_` of denied requests
};

/// The memory of one request: its body, the replies, its answer; or what a connection keeps between
/// two. Lives on one worker and longer than its reservations. Costs nothing while it holds nothing.
class MemoryHolder {
 public:
  explicit MemoryHolder(MemoryLedger& ledger) : ledger_(ledger) {}
  MemoryHolder& operator=(MemoryHolder&&) = delete;
  virtual ~MemoryHolder();

  MemoryLedger& ledger() { return ledger_; }
  std::uint64_t held() const { return held_; }
  /// Why it gets no more memory. After a denial all requests fail until `forgive`.
  MemoryDenial denial() const { return denial_; }
  bool denied() const { return denial_ != MemoryDenial::none; }
  void forgive();

  /// Whether so many bytes would be granted now. If not, this is denied as refused.
  bool admits(std::uint64_t bytes);

 private:
  friend class MemoryLedger;

  /// Memory was denied: the request must end and release what it holds. Called in the middle of
  /// other work, so it may only schedule that for a turn of its own.
  virtual void on_denied(MemoryDenial why) = 0;
  /// Whether it only keeps something for later requests: it is cancelled before a request is denied
  /// memory.
  virtual bool idle() const { return false; }

  MemoryLedger& ledger_;
  std::uint64_t held_ = 0;
  std::size_t place_ = 0;  ///< in the ledger's list
  MemoryDenial denial_ = MemoryDenial::none;
};

/// The memory of one buffer of a request; the destructor releases it. Movable like the buffer.
/// Without a holder nothing is counted. Capacities up to kUncountedBuffer count as 0.
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

  /// Asks for this capacity. If denied, the holder has been notified.
  MemoryGrant resize(MemoryHolder* holder, std::size_t capacity) {
    return change(holder, capacity, &MemoryLedger::ask);
  }
  /// Counts a buffer that already has this capacity.
  void charge(MemoryHolder* holder, std::size_t capacity) {
    change(holder, capacity, &MemoryLedger::charge);
  }
  void release() {
    if (bytes_ != 0) drop();
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  MemoryGrant change(MemoryHolder* holder, std::size_t capacity, MemoryLedger::Take take);
  void drop();

  MemoryHolder* holder_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace karmad
