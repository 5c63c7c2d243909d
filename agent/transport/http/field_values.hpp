#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "agent/transport/http/http_head.hpp"

namespace karmad {

// What the values of some fields mean. Pure.

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, the only form in current use (RFC 9110, 5.6.7).
std::optional<std::chrono::sys_seconds> http_date(std::string_view text);

/// The part of its capacity that a server uses, as the value of the field `endpoint-load-metrics`
/// reports it (ORCA, Open Request Cost Aggregation, of Envoy and gRPC): `application_utilization`,
/// or else `cpu_utilization`; as text (`cpu_utilization=0.3, rps_fractional=20`) or as JSON, each
/// with or without the format's name before it. Nothing if neither is there, or if the value is
/// malformed, negative or above 100. Values above 1 are possible: capacities are estimates.
std::optional<double> reported_load(std::string_view field);

/// The protocols that a request offers to change to (RFC 9110 section 7.8): the value of `Upgrade`.
/// Empty: it offers none that may be passed on. HTTP itself may not: its further requests would
/// pass unread. Pure.
std::string_view offered_upgrade(const Head& request);

/// Whether the head of a 101 names one of the `offered` protocols, and no other. Pure.
bool accepts_offer(const Head& reply, std::string_view offered);

}  // namespace karmad
