#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "strategies/random_source.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// The distribution of service times.
struct ServiceTime {
  enum class Kind : std::uint8_t { none, fixed, exponential, lognormal, two };
  Kind kind = Kind::none;
  double ms = 0;        ///< the time, the mean, or the median
  double sigma = 0;     ///< of the logarithm, for lognormal
  double other_ms = 0;  ///< of some searches, for two; the next is their part
  double other_part = 0;

  /// A random time in µs.
  double draw(SeededRandom& random) const;
  double mean_micros() const;
  bool operator==(const ServiceTime&) const = default;
};

/// The behaviour of a simulated mirror.
struct MirrorProfile {
  enum class Mode : std::uint8_t {
    ok,
    refuse,     ///< its port is closed; its connections are reset
    blackhole,  ///< reads requests and never answers
    freeze,     ///< holds its answers until the mode is ok again
  };

  ServiceTime service;
  double slow = 1;                 ///< factor of service times
  unsigned servers = 0;            ///< 0: unlimited
  std::optional<unsigned> queue;   ///< longest queue; none: unlimited
  double rate = 0;                 ///< of a token bucket, requests/s; 0: none
  unsigned overload_status = 503;  ///< of the answer beyond queue or rate
  unsigned retry_after = 1;        ///< s, in that answer and in error answers; 0: none
  double errors = 0;               ///< share of error answers
  unsigned error_status = 500;     ///< their status
  Micros error_delay{};            ///< time until they are sent
  double resets = 0;               ///< share of requests answered by a reset connection
  Micros stall_every{};            ///< period of pauses; 0: none
  Micros stall_for{};              ///< length of the pause at the end of each period
  Mode mode = Mode::ok;            ///< state of its process
  bool pings_see_errors = false;   ///< pings get the error answers too
  bool reports_load = false;       ///< its answers tell the part of its servers that is busy
  double cold_factor = 1;          ///< factor of service times with a cold cache
  unsigned cold_requests = 0;      ///< requests until the cache is warm
  std::uint32_t cold_starts = 0;   ///< how often `cold` was set; each starts a cold cache
  Micros network = Micros{100};    ///< delay of each direction
  bool operator==(const MirrorProfile&) const = default;
};

/// Sets one property from text, such as `svc` and `exp:5`; or says why not.
std::expected<void, std::string> assign(MirrorProfile& profile, std::string_view key,
                                        std::string_view value);

/// All keys of assign().
std::span<const std::string_view> profile_keys();

/// Reads a finite decimal number from `least` to `most`.
std::optional<double> parse_number(std::string_view text, double least, double most);

}  // namespace karmad
