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

/// Threads for work that would hold a loop for longer than a turn may last: merging long replies,
/// checking them, understanding long requests. The work is a pure function of values that the
/// waiting coroutine holds; it touches nothing of a loop, its buffers included. Thread-safe.
class HelperPool {
 public:
  /// `most_waiting`: pieces of work that may wait for a thread; more are refused.
  HelperPool(unsigned threads, std::size_t most_waiting);
  HelperPool(const HelperPool&) = delete;
  HelperPool& operator=(const HelperPool&) = delete;
  /// Waits for the threads. No work may wait or run.
  ~HelperPool();

  enum class End : std::uint8_t {
    done,
    withdrawn,  ///< a stop was requested before it began; it will not run
    refused,    ///< too many waited
  };

  /// Calls `work()` on a thread of the pool and waits for its end on `loop`. A stop withdraws work
  /// that has not begun; work that has begun is waited for, as it reads what the caller holds.
  /// `work` stays where it is until then.
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
  std::mutex mutex_;  ///< of the next three
  std::condition_variable news_;
  std::deque<Job*> jobs_;
  bool ending_ = false;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::size_t> running_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::vector<std::thread> threads_;
};

/// None: all zero.
void write(StatsWriter& out, const HelperPool* helpers);

}  // namespace karmad
