#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace karmad {

/// A queue in a ring that grows and never shrinks: in steady state it allocates nothing.
template <class T>
class RingQueue {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  const T& front() const { return ring_[begin_]; }
  void push_back(const T& item) {
    if (count_ == ring_.size()) grow();
    ring_[(begin_ + count_++) & (ring_.size() - 1)] = item;
  }
  void pop_front() {
    begin_ = (begin_ + 1) & (ring_.size() - 1);
    --count_;
  }
  void clear() { begin_ = count_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(ring_.empty() ? 16 : ring_.size() * 2);  // a power of two
    for (std::size_t i = 0; i < count_; ++i) larger[i] = ring_[(begin_ + i) & (ring_.size() - 1)];
    ring_ = std::move(larger);
    begin_ = 0;
  }

  std::vector<T> ring_;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
};

}  // namespace karmad
