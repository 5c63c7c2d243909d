#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "agent/mirrors/agent_slots.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// The value of a `max_in_flight` setting.
struct SlotLimit {
  unsigned most = 0;  ///< 0: unlimited
  bool automatic = false;
  bool limits() const { return most != 0 || automatic; }
  bool operator==(const SlotLimit&) const = default;
};

/// `unlimited` (or 0), a number up to a million, `auto`; otherwise an error.
std::expected<SlotLimit, std::string> parse_slot_limit(std::string_view text);

/// The bounds of `auto`, without a limit yet.
AgentSlotRules slot_rules(const InstanceSettings& settings);

/// Combines limits: the strictest one counts for the agent.
void add_limit(AgentSlotRules& rules, const SlotLimit& limit);

}  // namespace karmad
