#pragma once

#include <utility>

#include "balancer/shard/again.hpp"

namespace karmad {

/// The retries of a part, for all reasons: another mirror, at once or after a pause (BP-060,
/// BP-007, CO-030 …), or the wait that a mirror told (CO-020). What tells them apart is counted by
/// the rules (retry_plan), not by loops within each other (CO-004; docs/decisions/006). Ends when
/// one has answered, nothing more may be tried, or the part is over.
template <class Next>
class Retries {
 public:
  constexpr explicit Retries(Next next) : next_(std::move(next)) {}

  Task<void> operator()(ShardCall& call) const {
    for (bool goes_on = true; goes_on;) {
      auto asked = next_(call);
      const auto& decided = co_await asked;
      if (!decided.again()) co_return;
      goes_on = co_await again(call, decided);
    }
  }

 private:
  Next next_;
};

}  // namespace karmad
