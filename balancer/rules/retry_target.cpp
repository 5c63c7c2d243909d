#include "balancer/rules/retry_target.hpp"

namespace karmad {

RetryTarget retry_target(const PreferenceLevels& untried, Candidates avoided,
                         const SetHealth::Groups& stand, bool funded) {
  using On = RetryTarget::On;
  const auto all = untried.all();
  for (const auto from : {all - avoided, all}) {
    if (const auto proven = untried.first_of(from & stand.proven); !proven.empty())
      return {On::nothing, proven};
    const auto told_soon = untried.first_of(from & stand.told_soon);
    const auto unasked = untried.first_of((from & stand.unknown) - stand.told_soon);
    // Without savings it is paid for if it fails: it happens once per mirror.
    if (!unasked.empty() && (funded || told_soon.empty()))
      return {funded ? On::budget : On::nothing, unasked};
    if (!told_soon.empty()) return {On::news, told_soon};
  }
  const auto answered = untried.first_of(all - stand.failing);
  return {On::budget, answered.empty() ? untried.first_of(all) : answered};
}

}  // namespace karmad
