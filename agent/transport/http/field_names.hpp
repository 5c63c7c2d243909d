#pragma once

#include <string_view>

namespace karmad {

// Header fields of ours that agents get or send. Those that only clients send to karmad stand in
// balancer/core/request_fields.hpp. No other file spells one.

/// Of requests: a query's read preference. Every hop reads it and writes its own (SS-090 …).
inline constexpr std::string_view kReadPreference = "X-Read-Preference";
/// Of requests: what is left of the time, in milliseconds. Likewise.
inline constexpr std::string_view kTimeoutMs = "X-Timeout-Ms";
/// Of requests: how many karmads the request has passed. Each writes its own; absent: none.
inline constexpr std::string_view kHops = "X-Karmad-Hops";
/// Of requests: the sender understands labels of overload (BP-032).
inline constexpr std::string_view kBackpressure = "X-Backpressure";
/// Of requests and answers: the id of a request in the logs of all programs that serve it.
inline constexpr std::string_view kRequestId = "X-Request-Id";
// Of requests: the trace that they belong to, and data of its vendors (W3C Trace Context).
inline constexpr std::string_view kTraceparent = "traceparent";
inline constexpr std::string_view kTracestate = "tracestate";

// Of requests: the way that they came, from the client through all proxies (RFC 7239 has the last).
inline constexpr std::string_view kForwardedFor = "X-Forwarded-For";
inline constexpr std::string_view kForwardedProto = "X-Forwarded-Proto";
inline constexpr std::string_view kForwardedHost = "X-Forwarded-Host";
inline constexpr std::string_view kForwarded = "Forwarded";
/// Of requests: who asks, and what proves it (RFC 9110 section 11.6.2).
inline constexpr std::string_view kAuthorization = "Authorization";
/// Of answers with 401: which credentials are wanted.
inline constexpr std::string_view kAuthenticate = "WWW-Authenticate";

// Of answers: how a server is. Agents tell karmad, karmad its clients.

inline constexpr std::string_view kRetryAfter = "Retry-After";
inline constexpr std::string_view kRetryAfterMs = "Retry-After-Ms";
inline constexpr std::string_view kErrorLabels = "X-Error-Labels";
inline constexpr std::string_view kSubStatus = "X-Sub-Status";
/// The generation of the data that an answer was made from: a count of updates.
inline constexpr std::string_view kGeneration = "X-Generation";
/// The load of a server (ORCA): reported_load().
inline constexpr std::string_view kLoadMetrics = "endpoint-load-metrics";
// What the SDK that the retries are modelled on calls them (CO-033).
inline constexpr std::string_view kMsRetryAfterMs = "x-ms-retry-after-ms";
inline constexpr std::string_view kMsRetryAfter = "x-ms-retryafter";
inline constexpr std::string_view kMsSubStatus = "x-ms-substatus";

}  // namespace karmad
