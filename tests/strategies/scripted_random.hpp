#pragma once

#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <vector>

#include "strategies/random_source.hpp"

namespace karmad::testing {

/// Answers with what the test wrote down, as fractions of the range: 0.5 is the middle of below(n)
/// and of [0, 1). Drawing more often than written fails the test by an exception.
class ScriptedRandom final : public RandomSource {
 public:
  ScriptedRandom(std::initializer_list<double> fractions) : left_(fractions) {}

  std::size_t below(std::size_t n) override {
    return static_cast<std::size_t>(uniform() * static_cast<double>(n));
  }
  double uniform() override {
    if (next_ == left_.size()) throw std::logic_error("more draws than the test wrote down");
    return left_[next_++];
  }
  bool used_up() const { return next_ == left_.size(); }

 private:
  std::vector<double> left_;
  std::size_t next_ = 0;
};

}  // namespace karmad::testing
