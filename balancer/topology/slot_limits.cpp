#include "balancer/topology/slot_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/settings/units.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

std::expected<SlotLimit, std::string> parse_slot_limit(std::string_view text) {
  constexpr std::uint64_t kMost = 1'000'000;
  const auto word = lower(text);
  if (word == "unlimited") return SlotLimit{};
  if (word == "auto") return SlotLimit{.automatic = true};
  const auto number = parse_count(text);
  if (number && *number <= kMost) return SlotLimit{.most = static_cast<unsigned>(*number)};
  return std::unexpected(fmt::format(
      "max_in_flight is unlimited, auto or a number up to {}, not {}", kMost, in_quotes(text)));
}

AgentSlotRules slot_rules(const InstanceSettings& settings) {
  AgentSlotRules rules;
  rules.enforced = settings.admission.value == AdmissionMode::enforce;
  rules.measured = {.least = settings.max_in_flight_min.value,
                    .most = settings.max_in_flight_max.value,
                    .initial = settings.max_in_flight_initial.value,
                    .slack = settings.max_in_flight_slack.value,
                    .smoothing = settings.max_in_flight_smoothing.value / 100.0};
  return rules;
}

void add_limit(AgentSlotRules& rules, const SlotLimit& limit) {
  rules.automatic = rules.automatic || limit.automatic;
  if (limit.most == 0) return;
  rules.most = rules.most == 0 ? limit.most : std::min(rules.most, limit.most);
}

}  // namespace karmad
