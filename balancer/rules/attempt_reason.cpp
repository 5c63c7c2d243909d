#include "balancer/rules/attempt_reason.hpp"

#include <array>

#include "config/text/enum_names.hpp"

namespace karmad {
namespace {

struct Row {
  AttemptReason reason;
  std::string_view name;
  std::string_view traced;
};
constexpr std::array<Row, kAttemptReasons> kReasons{{
    {AttemptReason::initial, "initial", "initial"},
    {AttemptReason::retry, "retry", "retry"},
    {AttemptReason::overload, "overload", "overload"},
    {AttemptReason::throttled, "throttled", "throttled"},
    {AttemptReason::moved, "moved", "moved"},
    {AttemptReason::migrating, "migrating", "moved"},
    {AttemptReason::recreated, "recreated", "moved"},
    {AttemptReason::lost_copy, "lost_copy", "moved"},
    {AttemptReason::conflict, "conflict", "conflict"},
    {AttemptReason::generation_low, "generation_low", "retry"},
    {AttemptReason::draining, "draining", "moved"},
    {AttemptReason::zone, "zone", "zone"},
    {AttemptReason::hedge, "hedge", "hedge"},
    {AttemptReason::new_primary, "new_primary", "retry"},
    {AttemptReason::quorum, "quorum", "quorum"},
}};
static_assert(lists_all(kReasons, &Row::reason));

}  // namespace

std::string_view name(AttemptReason reason) {
  return kReasons[static_cast<std::size_t>(reason)].name;
}

std::string_view trace_name(AttemptReason reason) {
  return kReasons[static_cast<std::size_t>(reason)].traced;
}

}  // namespace karmad
