#include "agent/transport/loop/run_detached.hpp"

#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace karmad {
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
