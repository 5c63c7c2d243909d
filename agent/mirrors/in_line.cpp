#include "agent/mirrors/in_line.hpp"

#include <utility>

namespace karmad {

void InLine::wants(Candidates mirrors) {
  if (claim_ && mirrors == wanted_) return;
  leave();
  wanted_ = mirrors;
  claim_ = std::make_shared<Claim>(set_.loops(), worker_);
  for (const auto mirror : wanted_) {
    set_[mirror].agent->seats.join(claim_, mirror);
    if (claim_->got()) return;
  }
}

std::optional<InLine::Got> InLine::take() {
  if (!claim_) return std::nullopt;
  const auto claim = std::exchange(claim_, nullptr);
  const bool got_none = claim->give_up();
  for (const auto mirror : wanted_) set_[mirror].agent->seats.leave(*claim);
  if (got_none) return std::nullopt;
  const auto mirror = *claim->got();
  return Got{mirror, set_[mirror].agent->seats.take_granted()};
}

}  // namespace karmad
