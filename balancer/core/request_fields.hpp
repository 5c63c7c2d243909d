#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/http_head.hpp"
#include "balancer/rules/hedge_plan.hpp"
#include "config/settings.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {

// Every header and parameter of the URL with which a client tells karmad how its request is to be
// treated; kReadPreference and kTimeoutMs, which agents get as well, stand in field_names.hpp. No
// other file spells one.

inline constexpr std::string_view kPreferenceParameter = "read_preference";
inline constexpr std::string_view kHedge = "X-Hedge";
inline constexpr std::string_view kMinGeneration = "X-Min-Generation";
inline constexpr std::string_view kConsistency = "X-Consistency";
inline constexpr std::string_view kPartialResults = "X-Partial-Results";
inline constexpr std::string_view kPriority = "X-Priority";
inline constexpr std::string_view kAppName = "X-App-Name";
inline constexpr std::string_view kIdempotencyKey = "Idempotency-Key";
inline constexpr std::string_view kTraceField = "X-Karmad-Trace";

/// All of them as a table in Markdown, for the manual.
std::string request_fields_reference();

/// What one request says of how it is put to mirrors.
struct RequestFields {
  std::optional<ReadPreference> preference;
  std::optional<HedgeSetting> hedge;
  std::optional<std::uint64_t> min_generation;  ///< what its client has seen already (CO-077)
  std::optional<Consistency> consistency;       ///< CO-070
  std::optional<PartialResults> partial_results;
};

/// What is wrong with one of them. With a `type`, the error is told with it.
struct FieldMistake {
  std::string_view type;
  std::string reason;
  int code = 0;
};

/// Reads them from the head and from the URL's `parameters`, from which those of ours are taken
/// out: what is left is kept in `rest`, when it is not all. Costs some comparisons of bits for a
/// request without any.
std::optional<FieldMistake> read_request_fields(const RequestHead& head,
                                                std::string_view& parameters, std::string& rest,
                                                RequestFields& into);

/// The time a request may take: X-Timeout-Ms may shorten `longest`; what is no number is ignored.
Micros time_allowed(const RequestHead& head, Micros longest);

/// Whether its work has time (AC-007).
bool has_low_priority(const RequestHead& head);

/// Whether its answer is to tell every attempt.
bool asks_for_trace(const RequestHead& head);

}  // namespace karmad
