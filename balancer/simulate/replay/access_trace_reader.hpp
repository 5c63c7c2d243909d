#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "agent/stats/outcome.hpp"
#include "balancer/simulate/replay/access_trace.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Longest time of an attempt or a request in a line: the limit of `agent_query_timeout` and the
/// like is one hour. A longer one is not from karmad.
inline constexpr Micros kLongestLoggedTime = std::chrono::hours(1);
/// Smallest `sample` that is believed: one line in a million requests.
inline constexpr double kSmallestSample = 1e-6;

/// An attempt of a line. The views of the structs here live as long as the line.
struct AccessLineAttempt {
  std::uint32_t shard = 0;
  std::string_view mirror;  ///< raw JSON text without quotes
  Micros start{};           ///< from the arrival of the request
  Micros took{};
  Outcome outcome = Outcome::cancelled;
  unsigned status = 0;  ///< of an error reply; 0: none
};

/// The parts of a line of the access log that a replay uses.
struct AccessLine {
  Micros time{};  ///< of the arrival, since 1970
  Micros total{};
  std::uint64_t id = 0;
  std::string_view operation;
  std::string_view table;  ///< raw JSON text without quotes; empty: none
  double sample = 1;       ///< the probability with which the line was written
  std::vector<AccessLineAttempt> attempts;
  std::uint64_t unusable = 0;  ///< attempts without an end, or not counted for the mirror
};

/// Reads a line as append_access_json() writes it, with members in any order; unknown members are
/// skipped. False: it is something else, and `line` has no meaning.
bool parse_access_line(std::string_view text, AccessLine& line);

/// Whether a request with that operation changes data.
bool is_update(std::string_view operation);

/// Longest line that is read: karmad writes lines below this (32 KiB of attempts, and a head).
inline constexpr std::size_t kLongestAccessLine = 64 << 10;

/// Reads an access log in JSON (`access_log_format = json`) to its end. Lines of other formats are
/// counted and skipped. Lines may be in any order, and twice. The error says that there is nothing
/// to replay, and why.
std::expected<AccessTrace, std::string> read_access_trace(std::istream& in);

}  // namespace karmad
