#pragma once

#include <rapidjson/document.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/transport/http/http_head.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// The body of an error answer. It is parsed as JSON at most once, when it is first asked for. The
/// text has to live as long.
class ErrorBody {
 public:
  static constexpr std::size_t kLongest = std::size_t{64} * 1024;

  explicit ErrorBody(std::string_view text) : text_(text) {}

  std::string_view text() const { return text_; }
  /// The JSON object that it is; null: it is none, or longer than kLongest.
  const rapidjson::Value* object() const;

 private:
  std::string_view text_;
  mutable bool parsed_ = false;
  mutable std::optional<rapidjson::Document> document_;  ///< if it is an object
};

/// What an error answer asks the sender to do: retry later, retry elsewhere, or nothing special.
struct ErrorHint {
  enum class Kind : std::uint8_t {
    none,            ///< an ordinary error
    overload,        ///< retry later; the sender computes the delay (BP-007)
    throttled,       ///< retry after `delay` (CO-020)
    moved,           ///< 410/0: the mirror no longer serves this shard (CO-051)
    migrating,       ///< 410/1007, 410/1008: the shard is being split or moved (CO-052)
    recreated,       ///< 410/1000: another index with the same name (CO-053)
    lost_copy,       ///< 410/1022: the mirror has lost its copy (CO-057)
    retry_with,      ///< 449: two updates collided (CO-055)
    generation_low,  ///< 404/1002: the mirror lacks data the client has seen (CO-034)
    draining,        ///< 403/1008: the mirror is being removed (CO-033)
  };

  Kind kind = Kind::none;
  bool overload = false;  ///< the label SystemOverloadedError, written or implied
  bool retryable =
      false;  ///< the label RetryableError, written or implied; neither implies the other
  std::uint32_t sub_status = 0;
  bool not_primary = false;            ///< 403/3: the mirror takes no updates (CO-032)
  std::optional<Micros> delay;         ///< from a header field; 0 to one day
  std::optional<Micros> backoff_base;  ///< replaces the configured base (BP-016); at most a day

  bool operator==(const ErrorHint&) const = default;
};

/// Reads the hint in an error answer (BP-013, CO-020, CO-051 … CO-057).
///
/// Labels are in the JSON body (`labels` or `errorLabels`, at the top or in `error`) or in
/// X-Error-Labels. Without either of the two known labels, these imply both: 429, 503 with a
/// Retry-After, and the refusals of known engines. The delay is in Retry-After-Ms,
/// x-ms-retry-after-ms, x-ms-retryafter (milliseconds too) or Retry-After (seconds, or a date in
/// the current HTTP format); the first readable one counts. The sub-status is in X-Sub-Status,
/// x-ms-substatus or `subStatus`; missing: 0. The types `generation_too_low` and `draining` have
/// the meaning of their numbers.
///
/// The body may be any bytes; up to 64 KB are read as JSON. Answers below 400 give no hint, and
/// their body is not read. `now` is compared with dates.
ErrorHint error_hint(int status, const Head& head, const ErrorBody& body,
                     std::chrono::system_clock::time_point now);

}  // namespace karmad
