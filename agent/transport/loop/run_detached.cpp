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

/// Never destroyed: threads that are left alone use it to the end of the process.
Detached& detached() {
  static auto& all = *new Detached;
  return all;
}

/// The life of a thread: until no job waits.
void work(std::move_only_function<void()> job) {
  auto& all = detached();
  for (;;) {
    job();
    job = nullptr;  // with all it owns
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
