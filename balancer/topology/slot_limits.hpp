#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "agent/mirrors/agent_slots.hpp"
#include "config/settings.hpp"

namespace karmad {

/// What one `max_in_flight` says.
struct SlotLimit {
  unsigned most = 0;  ///< 0: any number
  bool automatic = false;
  bool limits() const { return most != 0 || automatic; }
  bool operator==(const SlotLimit&) const = default;
};

/// `unlimited` (or 0), a number up to a million, `auto`. Else what is wrong.
std::expected<SlotLimit, std::string> parse_slot_limit(std::string_view text);

/// What `auto` is to keep to; without a limit yet.
AgentSlotRules slot_rules(const InstanceSettings& settings);

/// An agent has as many slots as the strictest of all that is said of it allows.
void add_limit(AgentSlotRules& rules, const SlotLimit& limit);

}  // namespace karmad
