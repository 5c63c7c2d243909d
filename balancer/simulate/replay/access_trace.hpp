#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "agent/stats/outcome.hpp"
#include "balancer/simulate/replay/recorded_mirror.hpp"
#include "strategies/random_source.hpp"
#include "strategies/time.hpp"

namespace karmad::simulate {

/// Most attempts that are read. The memory for them is about 0.9 GB.
inline constexpr std::size_t kMostRecordedAttempts = 8'000'000;
/// Most tables, mirror sets of all tables, and mirrors of one set that are read. A set has at most
/// 64 members, but a log may have more of several configurations.
inline constexpr std::size_t kMostRecordedTables = 1024;
inline constexpr std::size_t kMostRecordedSets = 4096;
inline constexpr std::size_t kMostRecordedMirrors = 256;
/// Most arrivals that restore_arrivals() makes of a sample: 0.5 GB.
inline constexpr std::size_t kMostRestoredArrivals = 16'000'000;

/// A search that reached karmad.
struct RecordedArrival {
  Micros at{};               ///< since the first arrival
  std::uint32_t table = 0;   ///< position in AccessTrace::tables
  std::uint32_t shards = 0;  ///< different shards that it was sent to
  double weight = 1;         ///< requests that it stands for: 1 / `sample` of its line
  bool operator==(const RecordedArrival&) const = default;
};

/// What a search got from one shard.
struct RecordedRequest {
  Micros start{};             ///< of its first attempt there, since the first arrival
  std::uint32_t took_us = 0;  ///< until its answer, or the end of its last attempt
  float weight = 1;           ///< as that of its arrival
  bool answered = false;
};

/// All recorded attempts at one shard of one table.
struct RecordedSet {
  std::uint32_t table = 0;
  std::uint32_t shard = 1;             ///< of the table, from 1
  std::vector<std::string> addresses;  ///< of `mirrors`, as the log names them: `host:port`
  std::vector<RecordedMirror> mirrors;
};

struct AccessTraceCounts {
  std::uint64_t lines = 0;
  std::uint64_t other_lines = 0;          ///< not lines of an access log in JSON
  std::uint64_t long_lines = 0;           ///< longer than kLongestAccessLine
  std::uint64_t without_attempts = 0;     ///< requests without a table or a usable attempt
  std::uint64_t updates = 0;              ///< requests that changed data
  std::uint64_t duplicates = 0;           ///< lines of a request that was read before
  std::uint64_t sampled = 0;              ///< requests that stand for several
  std::uint64_t backward_steps = 0;       ///< of the clock, or files in another order
  std::uint64_t attempts = 0;             ///< used ones
  std::uint64_t unusable_attempts = 0;    ///< without an end, or not the mirror's result
  std::uint64_t attempts_over_limit = 0;  ///< of too many tables, sets or mirrors
  bool cut = false;                       ///< kMostRecordedAttempts was reached
};

/// The searches of an access log, and what each mirror did.
struct AccessTrace {
  std::vector<std::string> tables;
  std::vector<RecordedArrival> arrivals;  ///< sorted by time
  std::vector<RecordedSet> sets;          ///< sorted by table and shard
  std::vector<RecordedRequest> requests;  ///< in the order of the arrivals
  AccessTraceCounts counts;
};

/// Sentences about what was skipped or is uncertain, for the user.
std::vector<std::string> notes_on(const AccessTraceCounts& counts);

/// The arrivals with those that a sample (`access_log_sample`) left out: each recorded one with
/// weight w is accompanied by w - 1 further ones, at random times between the eighth recorded
/// arrival of its table before it and the eighth after it. All have weight 1. The error says that
/// they are too many.
std::expected<std::vector<RecordedArrival>, std::string> restore_arrivals(const AccessTrace& trace,
                                                                          RandomSource& random);

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

/// Longest line that is read: karmad writes lines below this (32 KiB of attempts, and a head).
inline constexpr std::size_t kLongestAccessLine = 64 << 10;

/// Reads an access log in JSON (`access_log_format = json`) to its end. Lines of other formats are
/// counted and skipped. Lines may be in any order, and twice. The error says that there is nothing
/// to replay, and why.
std::expected<AccessTrace, std::string> read_access_trace(std::istream& in);

}  // namespace karmad::simulate
