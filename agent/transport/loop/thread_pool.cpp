#include "agent/transport/loop/thread_pool.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#include <boost/asio/executor_work_guard.hpp>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace karmad {

namespace {

/// If all cores are busy, workers run first, so that small requests do not wait for long work.
constexpr int kNice = 10;

}  // namespace

ThreadPool::ThreadPool(unsigned threads, std::size_t most_waiting)
    : for_large_(threads), most_waiting_(most_waiting) {
  threads_.reserve(threads + 1);
  for (unsigned i = 0; i <= threads; ++i) {
    threads_.emplace_back([this] { work(); });
    ::pthread_setname_np(threads_.back().native_handle(), "helper");
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  news_.notify_all();
  for (auto& thread : threads_) thread.join();
}

Task<ThreadPool::End> ThreadPool::run(Loop& loop, Stop& stop, Subject subject, void (*call)(void*),
                                      void* what) {
  if (stop.requested()) co_return End::withdrawn;
  Job job{.call = call, .what = what, .loop = loop, .large = jobs_.is_large(subject.bytes)};
  if (!put(job, subject)) co_return End::refused;
  struct Withdrawing {
    ThreadPool& pool;
    Job& job;
  } withdrawing{*this, job};
  const asio::executor_work_guard<Executor> under_way(loop.io.get_executor());
  const Stop::Guard guard(stop, &withdrawing, [](void* target) {
    const auto& [pool, waiting] = *static_cast<Withdrawing*>(target);
    waiting.over.store(true, std::memory_order_relaxed);
    if (!pool.take_back(waiting)) return;  // it has begun, and will notify its end
    waiting.withdrawn = true;
    waiting.ended.notify();
  });
  co_await job.ended;
  co_return job.withdrawn ? End::withdrawn : End::done;
}

bool ThreadPool::put(Job& job, Subject subject) {
  {
    const std::scoped_lock lock(mutex_);
    if (jobs_.size() >= most_waiting_) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    if (jobs_.empty() && running() == 0) jobs_.forget_shares();
    jobs_.put(job, subject.bytes, subject.client);
    waiting_.store(jobs_.size(), std::memory_order_relaxed);
  }
  news_.notify_one();
  return true;
}

/// False if it is no longer in the queue.
bool ThreadPool::take_back(Job& job) {
  const std::scoped_lock lock(mutex_);
  const bool removed = jobs_.remove(job);
  waiting_.store(jobs_.size(), std::memory_order_relaxed);
  return removed;
}

void ThreadPool::work() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  std::unique_lock lock(mutex_);
  for (;;) {
    news_.wait(lock, [this] { return ending_ || jobs_.has(takes_large()); });
    auto* const next = jobs_.take(takes_large());
    if (next == nullptr) return;
    auto& job = *next;
    waiting_.store(jobs_.size(), std::memory_order_relaxed);
    running_.fetch_add(1, std::memory_order_relaxed);
    const bool large = job.large;
    if (large) ++large_running_;
    lock.unlock();
    job.withdrawn = !ends_when_over(job.over, [&job] { job.call(job.what); });
    running_.fetch_sub(1, std::memory_order_relaxed);
    done_.fetch_add(1, std::memory_order_relaxed);
    job.loop.post([&job] { job.ended.notify(); });  // after this the job may be destroyed
    lock.lock();
    if (!large) continue;
    --large_running_;
    news_.notify_one();  // a thread that may not take large work did not take what waits
  }
}

void write(StatsWriter& out, const ThreadPool* helpers) {
  using enum StatKind;
  out.add({"long_work", "merges, checks and parses done by helper threads"},
          helpers != nullptr ? helpers->done() : 0U);
  out.add({"long_work_running", "tasks that helper threads run now", gauge},
          helpers != nullptr ? helpers->running() : 0U);
  out.add({"long_work_waiting", "tasks that wait for a helper thread", gauge},
          helpers != nullptr ? helpers->waiting() : 0U);
  out.add({"long_work_refused", "tasks refused because long_work_queue was reached"},
          helpers != nullptr ? helpers->refused() : 0U);
}

namespace {

constexpr unsigned kThreads = 32;

struct Detached {
  std::mutex mutex;  ///< of the next two
  std::deque<std::move_only_function<void()>> waiting;
  unsigned threads = 0;
};

/// Never destroyed: detached threads use it until the process ends.
Detached& detached() {
  static auto& all = *new Detached;
  return all;
}

/// Body of a thread: runs jobs until none waits.
void work(std::move_only_function<void()> job) {
  auto& all = detached();
  for (;;) {
    job();
    job = nullptr;  // also destroys what the job owns
    const std::scoped_lock lock(all.mutex);
    if (all.waiting.empty()) {
      --all.threads;
      return;
    }
    job = std::move(all.waiting.front());
    all.waiting.pop_front();
  }
}

}  // namespace

void run_detached(std::move_only_function<void()> job) {
  auto& all = detached();
  const std::scoped_lock lock(all.mutex);
  if (all.threads == kThreads) {
    all.waiting.push_back(std::move(job));
    return;
  }
  std::thread(work, std::move(job)).detach();
  ++all.threads;
}

}  // namespace karmad
