#pragma once

#include <atomic>

namespace karmad {

/// An exponential average: starts with the first sample, each further one has a weight of 0.2
/// (AC-037). Any thread adds and reads; while all samples are 0, adding one costs a load.
class MovingAverage {
 public:
  void add(double sample) noexcept {
    auto before = average_.load(std::memory_order_relaxed);
    double after = 0;
    do {
      after = before < 0 ? sample : kWeight * sample + (1 - kWeight) * before;
    } while (after != before &&
             !average_.compare_exchange_weak(before, after, std::memory_order_relaxed));
  }
  /// 0 before the first sample.
  double get() const noexcept {
    const auto average = average_.load(std::memory_order_relaxed);
    return average < 0 ? 0 : average;
  }

 private:
  static constexpr double kWeight = 0.2;
  std::atomic<double> average_{-1};  // no sample yet
};

}  // namespace karmad
