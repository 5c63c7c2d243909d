#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "agent/stats/stats_writer.hpp"
#include "agent/transport/loop/loop.hpp"

namespace karmad {

/// Threads for work that would take too long for a turn of a loop: merging or checking long
/// replies, parsing long requests. The work is a pure function of values held by the waiting
/// coroutine; it must not use anything of a loop, not even buffers. Thread-safe.
class HelperPool {
 public:
  /// `most_waiting`: length of the queue; further work is refused.
  HelperPool(unsigned threads, std::size_t most_waiting);
  HelperPool(const HelperPool&) = delete;
  HelperPool& operator=(const HelperPool&) = delete;
  /// Joins the threads. No work may wait or run.
  ~HelperPool();

  enum class End : std::uint8_t {
    done,
    withdrawn,  ///< stopped before it began; it will not run
    refused,    ///< the queue is full
  };

  /// Calls `work()` on a thread of the pool and waits on `loop` until it ends. A stop withdraws
  /// work that has not begun. Work that has begun is waited for, because it reads the caller's
  /// data. `work` must stay at its place until then.
  template <class Work>
  Task<End> run(Loop& loop, Stop& stop, Work& work) {
    return run(
        loop, stop, [](void* what) { (*static_cast<Work*>(what))(); }, &work);
  }

  std::size_t threads() const { return threads_.size(); }
  std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  std::size_t running() const { return running_.load(std::memory_order_relaxed); }
  std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    void (*call)(void*);
    void* what;
    Loop& loop;
    AsyncEvent ended{};
    bool withdrawn = false;
  };

  Task<End> run(Loop& loop, Stop& stop, void (*call)(void*), void* what);
  bool put(Job& job);
  bool take_back(Job& job);
  void work();

  const std::size_t most_waiting_;
  std::mutex mutex_;  ///< protects the next three
  std::condition_variable news_;
  std::deque<Job*> jobs_;
  bool ending_ = false;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::size_t> running_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::vector<std::thread> threads_;
};

/// Null: all numbers are zero.
void write(StatsWriter& out, const HelperPool* helpers);

}  // namespace karmad
