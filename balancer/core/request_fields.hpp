#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/http_head.hpp"
#include "balancer/rules/hedge_plan.hpp"
#include "config/settings/settings.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {

// Every header field and URL parameter with which a client controls its request. Those
// that agents get too, as kReadPreference, are in agent/transport/http/field_names.hpp. No other
// file contains these names.

inline constexpr std::string_view kPreferenceParameter = "read_preference";
inline constexpr std::string_view kHedge = "X-Hedge";
inline constexpr std::string_view kMinGeneration = "X-Min-Generation";
inline constexpr std::string_view kConsistency = "X-Consistency";
inline constexpr std::string_view kPartialResults = "X-Partial-Results";
inline constexpr std::string_view kPriority = "X-Priority";
inline constexpr std::string_view kAppName = "X-App-Name";
inline constexpr std::string_view kIdempotencyKey = "Idempotency-Key";
inline constexpr std::string_view kTraceField = "X-Karmad-Trace";
inline constexpr std::string_view kExplainField = "X-Karmad-Explain";

/// The fields of a request that came by another protocol than HTTP.
inline const Head kNoFields{};

/// Type of the error that refuses a request because of kHops, with status 508.
inline constexpr std::string_view kLoopDetected = "loop_detected";

/// All of them as a table in Markdown, for the manual.
std::string request_fields_reference();

/// The newest data that a client has seen (CO-077): of each shard, as X-Generation of an answer
/// told, or one number for all shards.
struct SeenGenerations {
  std::optional<std::uint64_t> of_all;
  std::vector<std::pair<std::size_t, std::uint64_t>> of_shards;  ///< with their numbers, from 1

  /// That of the shard at this place in its table, from 0; none: any data will do.
  std::optional<std::uint64_t> at(std::size_t shard_at) const;
};

/// The options of one request about its mirrors.
struct RequestFields {
  std::optional<ReadPreference> preference;
  std::optional<HedgeSetting> hedge;
  SeenGenerations seen_generations;
  std::optional<Consistency> consistency;  ///< CO-070
  std::optional<PartialResults> partial_results;
  unsigned hops = 0;  ///< karmads that the request has passed
};

/// An error in one of them. `type`, if set, becomes the type in the error answer.
struct FieldMistake {
  std::string_view type;
  std::string reason;
  int code = 0;
};

/// Reads them from the head and from the URL's `parameters`. Parameters of karmad are removed; the
/// remaining text is stored in `rest` if it differs. Without any of them it costs a few bit
/// comparisons.
std::optional<FieldMistake> read_request_fields(const Head& fields, std::string_view& parameters,
                                                std::string& rest, RequestFields& into);

/// The time for a request: X-Timeout-Ms may shorten `longest`; invalid values do not, but are
/// mistakes in read_request_fields().
Micros time_allowed(const Head& fields, Micros longest);

/// Whether the request has low priority (AC-007).
bool has_low_priority(const Head& fields);

/// Whether the answer must list all attempts.
bool asks_for_trace(const Head& fields);
/// Whether the answer must explain the choices of mirrors.
bool asks_for_explanation(const Head& fields);

/// What a web page asks of karmad with a request (CORS, of the Fetch standard).
struct CorsRequest {
  std::string origin;         ///< value of Access-Control-Allow-Origin; empty: none
  bool is_preflight = false;  ///< a browser asks beforehand whether its page may send a request
  std::string headers;        ///< those that a preflight asks for; empty: none
};

/// Compares the request's origin with those that are allowed, as a whole. Pure.
CorsRequest cors_request(std::string_view method, const Head& fields, const Origins& allowed);

/// How long a browser may remember the answer to a preflight, in seconds.
inline constexpr std::string_view kPreflightAge = "600";

}  // namespace karmad
