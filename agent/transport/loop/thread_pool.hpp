#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "agent/json/work_over.hpp"
#include "agent/stats/stats_writer.hpp"
#include "agent/transport/loop/long_work_queue.hpp"
#include "agent/transport/loop/loop.hpp"

namespace karmad {

/// Threads for work that would take too long for a turn of a loop: merging or checking long
/// replies, parsing long requests. The work is a pure function of values held by the waiting
/// coroutine; it must not use anything of a loop, not even buffers. Thread-safe.
///
/// Work begins in the order of LongWorkQueue. Large work has `threads` threads, and small work one
/// more, so that it need not wait for the end of large work.
class ThreadPool {
 public:
  /// `most_waiting`: length of the queue; further work is refused.
  ThreadPool(unsigned threads, std::size_t most_waiting);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  /// Joins the threads. No work may wait or run.
  ~ThreadPool();

  enum class End : std::uint8_t {
    done,
    withdrawn,  ///< stopped: its results are incomplete, or it has not begun and will not
    refused,    ///< the queue is full
  };
  /// Of a piece of work: how much it reads, and the client that it belongs to.
  struct Subject {
    std::size_t bytes = 0;
    std::uint64_t client = 0;  ///< shares are by this number
  };

  /// Calls `work()` on a thread of the pool and waits on `loop` until it ends. A stop withdraws
  /// work that has not begun. Work that has begun is waited for, because it reads the caller's
  /// data; it ends where it asks next whether it is over (end_if_over()). `work` must stay at its
  /// place until then.
  template <class Work>
  Task<End> run(Loop& loop, Stop& stop, Subject subject, Work& work) {
    return run(
        loop, stop, subject, [](void* what) { (*static_cast<Work*>(what))(); }, &work);
  }

  std::size_t threads() const { return for_large_; }
  std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  std::size_t running() const { return running_.load(std::memory_order_relaxed); }
  std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    void (*call)(void*);
    void* what;
    Loop& loop;
    bool large = false;
    AsyncEvent ended{};
    std::atomic<bool> over{false};  ///< the query is over: the result is not used
    bool withdrawn = false;
  };

  Task<End> run(Loop& loop, Stop& stop, Subject subject, void (*call)(void*), void* what);
  bool put(Job& job, Subject subject);
  bool takes_large() const { return large_running_ < threads(); }
  bool take_back(Job& job);
  void work();

  const std::size_t for_large_;  ///< threads; there is one more
  const std::size_t most_waiting_;
  std::mutex mutex_;  ///< protects the next four
  std::condition_variable news_;
  LongWorkQueue<Job> jobs_;
  std::size_t large_running_ = 0;
  bool ending_ = false;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::size_t> running_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::vector<std::thread> threads_;
};

/// Null: all numbers are zero.
void write(StatsWriter& out, const ThreadPool* helpers);

}  // namespace karmad
