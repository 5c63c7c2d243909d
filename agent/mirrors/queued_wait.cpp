#include "agent/mirrors/queued_wait.hpp"

#include <utility>

namespace karmad {

void QueuedWait::wants(Candidates mirrors) {
  if (waiter_ && mirrors == wanted_) return;
  leave();
  wanted_ = mirrors;
  waiter_ = std::make_shared<SlotWaiter>(set_.loops(), worker_);
  for (const auto mirror : wanted_) {
    set_[mirror].agent->slots.join(waiter_, mirror);
    if (waiter_->got()) return;
  }
}

std::optional<QueuedWait::Got> QueuedWait::take() {
  if (!waiter_) return std::nullopt;
  const auto waiter = std::exchange(waiter_, nullptr);
  const bool got_none = waiter->give_up();
  for (const auto mirror : wanted_) set_[mirror].agent->slots.leave(*waiter);
  if (got_none) return std::nullopt;
  const auto mirror = *waiter->got();
  return Got{mirror, set_[mirror].agent->slots.take_granted()};
}

}  // namespace karmad
