#pragma once

#include <atomic>
#include <cstdint>

namespace karmad {

/// Counts one that waits, for as long as it lives.
class Waiting {
 public:
  explicit Waiting(std::atomic<std::uint32_t>& count)
      : before_(count.fetch_add(1, std::memory_order_relaxed)), count_(count) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { count_.fetch_sub(1, std::memory_order_relaxed); }
  std::uint32_t before() const { return before_; }

 private:
  std::uint32_t before_;
  std::atomic<std::uint32_t>& count_;
};

}  // namespace karmad
