#include "balancer/rules/retry_target.hpp"

namespace karmad {

RetryTarget retry_target(Candidates preferred, Candidates untried, const Standings::Groups& stand,
                         bool funded) {
  using On = RetryTarget::On;
  const auto hopeful = stand.proven | stand.unknown;
  const auto among = (preferred & hopeful).empty() ? untried : preferred;
  if (const auto proven = among & stand.proven; !proven.empty()) return {On::nothing, proven};
  const auto told_soon = among & stand.told_soon;
  const auto unasked = (among & stand.unknown) - stand.told_soon;
  if (!unasked.empty() && (funded || told_soon.empty())) return {On::budget, unasked};
  if (!told_soon.empty()) return {On::news, told_soon};
  const auto answered = among - stand.failing;
  return {On::budget, answered.empty() ? among : answered};
}

}  // namespace karmad
