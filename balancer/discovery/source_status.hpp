#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "agent/stats/stats_writer.hpp"
#include "balancer/watch/event_log.hpp"

namespace karmad {

/// What is known of a source of mirrors: a name, or the `discovery` of a table.
struct SourceNumbers {
  std::optional<WallTime> good_at;  ///< of the last good answer
  std::uint64_t failures = 0;       ///< answers that were missing or wrong
  bool failing = false;             ///< the last answer was
  std::size_t mirrors = 0;          ///< addresses or mirrors in the last good answer
  std::string why;                  ///< of the last failure
};

/// The sources in use. Adds an event when one begins to fail, at each further reason and when it
/// works again, before its numbers say so: a reader of the numbers finds the event. The main thread
/// writes, any reads.
class SourceStatus {
 public:
  explicit SourceStatus(EventLog& events) : events_(events) {}

  void good(const std::string& source, std::size_t mirrors, WallTime now);
  /// `held`: what is used meanwhile, for people.
  void failed(const std::string& source, const std::string& why, std::string_view held,
              WallTime now);
  void remove(const std::string& source);

  std::optional<SourceNumbers> of(const std::string& source) const;
  std::map<std::string, SourceNumbers> all() const;

 private:
  void report(OperatorEvent::Kind kind, std::string message, WallTime now);

  EventLog& events_;
  mutable std::mutex mutex_;
  std::map<std::string, SourceNumbers> sources_;
  /// Of each source that fails, the reasons that were reported since it began to: its servers may
  /// fail in turn, each for its own. Main thread only.
  std::map<std::string, std::set<std::string>> told_;
};

/// The numbers of each, with its name as a label.
void write(StatsWriter& out, const std::map<std::string, SourceNumbers>& sources);

}  // namespace karmad
