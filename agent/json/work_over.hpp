#pragma once

#include <atomic>
#include <utility>

namespace karmad {

/// How work ends whose query is over, so that its result is not used. Thrown by end_if_over(),
/// caught by ends_when_over() only. What the work has made until then must not be used.
struct WorkIsOver {};

namespace detail {
inline thread_local const std::atomic<bool>* over_of_this_thread = nullptr;
}

/// Called within loops over much data, for each row, hit or token. Does nothing on threads that
/// have no ends_when_over(): workers finish what they begin. Costs two loads at most.
inline void end_if_over() {
  const auto* const over = detail::over_of_this_thread;
  if (over != nullptr && over->load(std::memory_order_relaxed)) throw WorkIsOver();
}

/// Calls `work`, which ends early once `over` is set. False if it did.
template <class Work>
bool ends_when_over(const std::atomic<bool>& over, Work&& work) {
  struct Scope {
    ~Scope() { detail::over_of_this_thread = nullptr; }
  } scope;
  detail::over_of_this_thread = &over;
  try {
    std::forward<Work>(work)();
  } catch (const WorkIsOver&) {
    return false;
  }
  return true;
}

}  // namespace karmad
