#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace karmad {

/// Ids for documents that come without one (docs/decisions/036-made-ids.md): positive numbers of 63
/// bits that grow with time. No two calls get the same number; any thread may call.
class DocumentIds {
 public:
  /// Bits below the milliseconds: they hold a number that each process draws for itself.
  static constexpr unsigned kProcessBits = 22;

  /// Called before the first next(). `drawn`: a random number below 2^kProcessBits.
  void set_process(std::uint64_t drawn) { process_ = drawn; }

  std::uint64_t next(std::chrono::system_clock::time_point now) {
    const auto candidate = at(now);
    auto last = last_.load(std::memory_order_relaxed);
    std::uint64_t id = 0;
    do {
      id = std::max(last + 1, candidate);
    } while (!last_.compare_exchange_weak(last, id, std::memory_order_relaxed));
    return id;
  }

 private:
  /// Milliseconds since 2020, in 41 bits, and the number of the process.
  std::uint64_t at(std::chrono::system_clock::time_point now) const {
    using std::chrono::milliseconds;
    constexpr std::chrono::sys_days kEpoch{std::chrono::year{2020} / 1 / 1};
    const auto since = std::chrono::floor<milliseconds>(now - kEpoch).count();
    const auto bounded = std::clamp<std::int64_t>(since, 0, (std::int64_t{1} << 41) - 1);
    return (static_cast<std::uint64_t>(bounded) << kProcessBits) | process_;
  }

  std::uint64_t process_ = 0;
  std::atomic<std::uint64_t> last_{0};
};

}  // namespace karmad
