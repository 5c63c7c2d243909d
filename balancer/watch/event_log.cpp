#include "balancer/watch/event_log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/json/json_line.hpp"

namespace karmad {
namespace {

constexpr std::size_t kLongestMessage = 512;

void append_event(std::string& json, std::uint64_t id, const OperatorEvent& event, WallTime at) {
  JsonLine line(json);
  const auto text = [&](std::string_view key, std::string_view value) {
    line.add(",\"");
    line.add(key);
    line.add("\":");
    line.add_quoted(value.substr(0, kLongestMessage));
  };
  const auto number = [&](std::string_view key, std::size_t value) {
    line.add(",\"");
    line.add(key);
    line.add("\":");
    line.add_number(value);
  };
  line.add("{\"id\":");
  line.add_number(id);
  text("time", utc_text(at));
  text("severity", kSeverityNames[event.severity]);
  text("event", kEventKindNames[event.kind]);
  if (event.kind == OperatorEvent::Kind::mirror) {
    text("table", event.table);
    number("shard", event.shard);
    number("mirror", event.mirror);
    text("address", event.address);
    text("state", event.state);
    text("former_state", event.former_state);
  }
  text("message", event.message);
  line.add('}');
}

}  // namespace

std::string utc_text(WallTime time) {
  const auto ms = std::chrono::time_point_cast<std::chrono::milliseconds>(time);
  const auto s = std::chrono::floor<std::chrono::seconds>(ms);
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(s)),
                     (ms - s).count());
}

void EventLog::add(const OperatorEvent& event, WallTime at) {
  const std::scoped_lock lock(mutex_);
  ++newest_;
  std::string json;
  append_event(json, newest_, event, at);
  if (entries_.size() == kKept) entries_.pop_front();
  entries_.push_back({newest_, std::move(json)});
}

std::vector<EventLog::Entry> EventLog::since(std::uint64_t id) const {
  const std::scoped_lock lock(mutex_);
  const auto from = std::ranges::upper_bound(entries_, id, {}, &Entry::id);
  return {from, entries_.end()};
}

std::uint64_t EventLog::newest() const {
  const std::scoped_lock lock(mutex_);
  return newest_;
}

}  // namespace karmad
