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

/// What one thread writes and any thread reads; needs memory once its writer has used it.
template <class Part>
class OnFirstUse {
 public:
  OnFirstUse& operator=(OnFirstUse&&) = delete;
  ~OnFirstUse() { delete part_.load(std::memory_order_relaxed); }

  /// Its writer only. The first call allocates.
  Part& for_writer() {
    auto* part = part_.load(std::memory_order_relaxed);
    if (part == nullptr) [[unlikely]] {
      part = new Part();
      part_.store(part, std::memory_order_release);
    }
    return *part;
  }
  /// Any thread; null: it was never used.
  const Part* get() const { return part_.load(std::memory_order_acquire); }

 private:
  std::atomic<Part*> part_{nullptr};
};

}  // namespace karmad
