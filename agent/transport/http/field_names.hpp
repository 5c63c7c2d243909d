#pragma once

#include <string_view>

namespace karmad {

// Fields of answers that report a server's state, from agents to karmad and from karmad to clients.
// Fields of requests are in http_write.hpp and balancer/core/request_fields.hpp.

inline constexpr std::string_view kRetryAfter = "Retry-After";
inline constexpr std::string_view kRetryAfterMs = "Retry-After-Ms";
inline constexpr std::string_view kErrorLabels = "X-Error-Labels";
inline constexpr std::string_view kSubStatus = "X-Sub-Status";
// The names in the SDK that the retries are modelled on (CO-033).
inline constexpr std::string_view kMsRetryAfterMs = "x-ms-retry-after-ms";
inline constexpr std::string_view kMsSubStatus = "x-ms-substatus";

}  // namespace karmad
