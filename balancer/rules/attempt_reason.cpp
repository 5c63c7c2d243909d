#include "balancer/rules/attempt_reason.hpp"

#include "config/text/enum_names.hpp"

namespace karmad {

std::string_view name(AttemptReason reason) {
  static constexpr auto kNames = enumerators<AttemptReason>();
  static_assert(kNames.all().size() == kAttemptReasons);
  return kNames[reason];
}

std::string_view trace_name(AttemptReason reason) {
  using enum AttemptReason;
  switch (reason) {
    case migrating:
    case recreated:
    case lost_copy:
    case draining:
      return name(moved);
    case generation_low:
    case new_primary:
      return name(retry);
    default:
      return name(reason);
  }
}

}  // namespace karmad
