#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "agent/mirrors/seats.hpp"
#include "config/settings.hpp"

namespace karmad {

/// What one `max_in_flight` says.
struct SeatLimit {
  unsigned most = 0;  ///< 0: any number
  bool automatic = false;
  bool limits() const { return most != 0 || automatic; }
  bool operator==(const SeatLimit&) const = default;
};

/// `unlimited` (or 0), a number up to a million, `auto`. Else what is wrong.
std::expected<SeatLimit, std::string> parse_seat_limit(std::string_view text);

/// What `auto` is to keep to; without a limit yet.
SeatRules seat_rules(const InstanceSettings& settings);

/// An agent has as many seats as the strictest of all that is said of it allows.
void add_limit(SeatRules& rules, const SeatLimit& limit);

}  // namespace karmad
