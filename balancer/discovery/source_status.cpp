#include "balancer/discovery/source_status.hpp"

#include <fmt/format.h>

#include <utility>

namespace karmad {
namespace {

constexpr std::size_t kMostReasons = 16;  // a reason may have a number that is never the same

}  // namespace

void SourceStatus::good(const std::string& source, std::size_t mirrors, WallTime now) {
  if (told_.erase(source) > 0)
    report(OperatorEvent::Kind::source_works, fmt::format("{}: works again", source), now);
  const std::scoped_lock lock(mutex_);
  auto& numbers = sources_[source];
  numbers.good_at = now;
  numbers.mirrors = mirrors;
  numbers.failing = false;
}

void SourceStatus::failed(const std::string& source, const std::string& why, std::string_view held,
                          WallTime now) {
  auto& told = told_[source];
  if (told.size() == kMostReasons && !told.contains(why)) told.clear();
  if (told.insert(why).second)
    report(OperatorEvent::Kind::source_failed, fmt::format("{}: {}; {}", source, why, held), now);
  const std::scoped_lock lock(mutex_);
  auto& numbers = sources_[source];
  ++numbers.failures;
  numbers.why = why;
  numbers.failing = true;
}

void SourceStatus::report(OperatorEvent::Kind kind, std::string message, WallTime now) {
  const bool fails = kind == OperatorEvent::Kind::source_failed;
  events_.add_and_log({.severity = fails ? LogLevel::warning : LogLevel::info,
                       .kind = kind,
                       .message = std::move(message)},
                      now);
}

void SourceStatus::remove(const std::string& source) {
  told_.erase(source);
  const std::scoped_lock lock(mutex_);
  sources_.erase(source);
}

std::optional<SourceNumbers> SourceStatus::of(const std::string& source) const {
  const std::scoped_lock lock(mutex_);
  const auto found = sources_.find(source);
  return found == sources_.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::string, SourceNumbers> SourceStatus::all() const {
  const std::scoped_lock lock(mutex_);
  return sources_;
}

void write(StatsWriter& out, const std::map<std::string, SourceNumbers>& sources) {
  for (const auto& [source, numbers] : sources)
    out.labelled({"source", source}, [&] {
      out.add(
          {"source_failing", "1: the last answer of this source of mirrors was missing or wrong",
           StatKind::gauge, Unit::flag},
          numbers.failing);
      out.add({"source_failures", "missing and wrong answers of a source of mirrors"},
              numbers.failures);
      out.add({"source_mirrors", "mirrors or addresses in the last good answer of a source",
               StatKind::gauge},
              numbers.mirrors);
      if (!numbers.good_at) return;
      const std::chrono::duration<double> good_at = numbers.good_at->time_since_epoch();
      out.add({"source_good_timestamp",
               "time of the last good answer of a source, in seconds since 1970", StatKind::gauge,
               Unit::seconds},
              good_at.count());
    });
}

}  // namespace karmad
