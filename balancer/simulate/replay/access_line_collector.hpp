#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "balancer/simulate/replay/access_line.hpp"
#include "balancer/simulate/replay/access_trace.hpp"

namespace karmad {

/// Collects the lines of an access log, in any order, and makes their trace.
class AccessLineCollector {
 public:
  /// False: kMostRecordedAttempts is reached; further lines are not accepted.
  bool add(std::string_view line);
  /// The trace of all lines. `counts.lines` and `counts.long_lines` are left to the caller.
  AccessTrace finish();

 private:
  struct Request {
    Micros time{};  ///< since 1970
    std::uint64_t id = 0;
    std::uint64_t first_attempt = 0;
    double weight = 1;
    std::uint32_t attempts = 0;
    std::uint32_t table = 0;
    std::uint32_t shards = 0;
  };
  struct Attempt {
    std::uint32_t start_us = 0;  ///< since the arrival of its request
    std::uint32_t took_us = 0;
    std::uint16_t set = 0;
    std::uint16_t mirror = 0;
    std::uint16_t status = 0;
    Outcome outcome = Outcome::cancelled;
  };
  struct Set {
    std::uint32_t table = 0;
    std::uint32_t shard = 0;
    std::vector<std::string> mirrors;  ///< raw, as in the lines
  };

  // Positions; empty: there are too many.
  std::optional<std::uint32_t> table_of(std::string_view name);
  std::optional<std::uint16_t> set_of(std::uint32_t table, std::uint32_t shard);

  void watch_clock();
  void add_request();
  bool add_attempt(std::uint32_t table, const AccessLineAttempt& attempt);
  std::uint32_t count_shards(std::uint64_t first_attempt) const;
  void add_recorded_requests(const Request& request, std::vector<RecordedRequest>& to) const;
  void sort_requests();
  RecordedSet recorded(std::uint16_t set, const std::vector<std::uint32_t>& requests_of_attempts,
                       const std::vector<std::uint32_t>& attempts) const;
  std::vector<RecordedSet> recorded_sets() const;

  AccessLine line_;
  AccessTraceCounts counts_;
  Micros latest_end_{};
  std::vector<Request> requests_;
  std::vector<Attempt> attempts_;
  std::vector<std::string> tables_;  ///< raw
  std::unordered_map<std::uint64_t, std::uint16_t> set_places_;
  std::vector<Set> sets_;
};

}  // namespace karmad
