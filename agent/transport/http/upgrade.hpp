#pragma once

#include <string_view>

#include "agent/transport/http/http_head.hpp"

namespace karmad {

/// The protocols that a request offers to change to (RFC 9110 section 7.8): the value of `Upgrade`.
/// Empty: it offers none that may be passed on. HTTP itself may not: its further requests would
/// pass unread. Pure.
std::string_view offered_upgrade(const Head& request);

/// Whether the head of a 101 names one of the `offered` protocols, and no other. Pure.
bool accepts_offer(const Head& reply, std::string_view offered);

}  // namespace karmad
