#pragma once

#include <optional>
#include <string_view>

namespace karmad {

/// The part of its capacity that a server uses, as the value of the field `endpoint-load-metrics`
/// reports it (ORCA, Open Request Cost Aggregation, of Envoy and gRPC): `application_utilization`,
/// or else `cpu_utilization`; as text (`cpu_utilization=0.3, rps_fractional=20`) or as JSON, each
/// with or without the format's name before it. Nothing if neither is there, or if the value is
/// malformed, negative or above 100. Values above 1 are possible: capacities are estimates.
std::optional<double> reported_load(std::string_view field);

}  // namespace karmad
