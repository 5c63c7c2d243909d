#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/mirrors/error_body.hpp"
#include "agent/transport/http/http_head.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// What an error answer asks of the sender of the request: retry later, elsewhere, or nothing.
struct ErrorHint {
  enum class Kind : std::uint8_t {
    none,            ///< an error like any other
    overload,        ///< later; the sender computes the pause (BP-007)
    throttled,       ///< later, in `delay` (CO-020)
    moved,           ///< 410/0: the mirror no longer serves this shard (CO-051)
    migrating,       ///< 410/1007, 410/1008: the shard is split or moves (CO-052)
    recreated,       ///< 410/1000: the index is another one of the same name (CO-053)
    lost_copy,       ///< 410/1022: the mirror has lost its copy (CO-057)
    retry_with,      ///< 449: two updates met (CO-055)
    generation_low,  ///< 404/1002: the mirror has not seen yet what the client has (CO-034)
    draining,        ///< 403/1008: the mirror is being taken away (CO-033)
  };

  Kind kind = Kind::none;
  bool overload = false;  ///< the label SystemOverloadedError, written or implied
  bool retryable =
      false;  ///< the label RetryableError, written or implied; neither implies the other
  std::uint32_t sub_status = 0;
  std::optional<Micros> delay;         ///< told by a header; never negative, at most a day
  std::optional<Micros> backoff_base;  ///< instead of our own (BP-016); positive, at most a day

  bool operator==(const ErrorHint&) const = default;
};

/// Reads the hint in an error answer (BP-013, CO-020, CO-051 … CO-057).
///
/// Labels are in the JSON body (`labels` or `errorLabels`, at the top or in `error`) or in
/// X-Error-Labels. Where neither of the two known ones is written, 429, 503 with a Retry-After, and
/// the refusals of known engines imply both. The delay is in Retry-After-Ms, x-ms-retry-after-ms or
/// Retry-After (seconds, or a date as HTTP writes it today), the first that can be read. The
/// sub-status is in X-Sub-Status, x-ms-substatus or `subStatus`; none is 0. The types
/// `generation_too_low` and `draining` say the same as their numbers.
///
/// The body may be anything; it is looked at as JSON up to 64 KB. Nothing is said about answers
/// that are no errors (below 400), nor is their body looked at. `now` is for dates.
ErrorHint error_hint(int status, const Head& head, const ErrorBody& body,
                     std::chrono::system_clock::time_point now);

}  // namespace karmad
