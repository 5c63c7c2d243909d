#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "agent/json/work_over.hpp"
#include "agent/stats/stats_writer.hpp"
#include "agent/transport/loop/loop.hpp"

namespace karmad {

/// The order in which long work begins: small work first, then by the share of each client
/// (start-time fair queueing, Goyal, Vin and Cheng 1996), then as it came. A client that has much
/// work waiting delays its own work, not that of others. Large work may be left out, so that small
/// work finds a thread. Pure; a walk over the queue for each take.
template <class Job>
class LongWorkQueue {
 public:
  static constexpr std::size_t kLarge = 4 << 20;  ///< bytes; more takes longer than most merges

  static bool is_large(std::size_t bytes) { return bytes > kLarge; }

  void put(Job& job, std::size_t bytes, std::uint64_t client) {
    if (ends_.size() >= kMostClients)
      std::erase_if(ends_, [this](const auto& end) { return end.second <= now_; });
    auto& end = ends_[client];
    const auto start = std::max(now_, end);
    end = start + bytes;
    items_.push_back({&job, bytes, client, start});
  }

  /// The next job; nothing if there is none, or only large work, which is not wanted.
  Job* take(bool large_too) {
    auto next = items_.end();
    for (auto item = items_.begin(); item != items_.end(); ++item)
      if ((large_too || !is_large(item->bytes)) && (next == items_.end() || before(*item, *next)))
        next = item;
    if (next == items_.end()) return nullptr;
    Job* const job = next->job;
    now_ = std::max(now_, next->start);
    items_.erase(next);
    return job;
  }
  bool has(bool large_too) const {
    return std::ranges::any_of(
        items_, [&](const Item& item) { return large_too || !is_large(item.bytes); });
  }

  /// Takes work out that has not begun; false if it is not there.
  bool remove(const Job& job) {
    const auto item = std::ranges::find(items_, &job, &Item::job);
    if (item == items_.end()) return false;
    // put() may have dropped what the client had.
    if (const auto end = ends_.find(item->client); end != ends_.end())
      end->second -= std::min<std::uint64_t>(end->second, item->bytes);
    items_.erase(item);
    return true;
  }

  /// Nothing waits or runs: what clients had is forgotten.
  void forget_shares() {
    ends_.clear();
    now_ = 0;
  }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }

 private:
  static constexpr std::size_t kMostClients = 1000;  ///< besides those that are ahead of the others
  struct Item {
    Job* job;
    std::size_t bytes;
    std::uint64_t client;
    std::uint64_t start;  ///< in bytes of work that each client has had
  };
  static bool before(const Item& a, const Item& b) {
    if (is_large(a.bytes) != is_large(b.bytes)) return is_large(b.bytes);
    return a.start < b.start;
  }

  std::vector<Item> items_;                      ///< as they came
  std::map<std::uint64_t, std::uint64_t> ends_;  ///< of each client's last work
  std::uint64_t now_ = 0;                        ///< start of the work that began last
};

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

/// Runs `job`, which may block for long and cannot be cancelled (a look-up of a name), on a thread
/// that is never joined. The job must own all its data. At most 32 run at the same time; further
/// ones queue. Any thread.
void run_detached(std::move_only_function<void()> job);

}  // namespace karmad
