#pragma once

#include <atomic>

namespace karmad {

/// A number that one thread writes and any thread reads. A write is a plain load and store, without
/// a locked instruction. Readers see some written value, unordered with other numbers.
template <class T>
class SingleWriter {
 public:
  void set(T value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void add(T more) noexcept { set(static_cast<T>(get() + more)); }
  T get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_{};
};

}  // namespace karmad
