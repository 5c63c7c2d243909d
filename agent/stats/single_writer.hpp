#pragma once

#include <atomic>

namespace karmad {

/// A number that one thread changes and any thread may read. Its owner pays a plain load and store,
/// never a locked instruction; readers see a value that was there, in no order with other numbers.
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
