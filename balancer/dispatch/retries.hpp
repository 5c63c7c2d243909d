#pragma once

#include <utility>

#include "balancer/dispatch/again.hpp"

namespace karmad {

/// Waits out what a mirror said of its own delay, and asks once more (CO-020, CO-021). Every other
/// decision goes on to the handle around it.
template <class Next>
class Throttling {
 public:
  constexpr explicit Throttling(Next next) : next_(std::move(next)) {}

  Task<Decision> operator()(ShardCall& call) const {
    for (;;) {
      auto asked = next_(call);
      const auto& decided = co_await asked;
      if (!decided.again() || decided.reason != Reason::throttled) co_return decided;
      const bool goes_on = co_await again(call, decided);
      if (!goes_on) co_return Decision{};
    }
  }

 private:
  Next next_;
};

/// The retries of a part, for all reasons but a told delay: another mirror, at once or after a
/// pause (BP-060, BP-007, CO-030 …). Ends when one has answered, nothing more may be tried, or the
/// part is over.
template <class Next>
class OtherMirrors {
 public:
  constexpr explicit OtherMirrors(Next next) : next_(std::move(next)) {}

  Task<void> operator()(ShardCall& call) const {
    for (;;) {
      auto asked = next_(call);
      const auto& decided = co_await asked;
      if (!decided.again()) co_return;
      const bool goes_on = co_await again(call, decided);
      if (!goes_on) co_return;
    }
  }

 private:
  Next next_;
};

}  // namespace karmad
