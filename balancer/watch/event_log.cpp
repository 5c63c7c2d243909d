#include "balancer/watch/event_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/json/json_line.hpp"
#include "balancer/trace/process_log.hpp"
#include "config/settings/words.hpp"

namespace karmad {
namespace {

constexpr std::size_t kLongestText = 512;

void add_text(JsonLine& line, std::string_view key, std::string_view value) {
  line.add(",\"", key, "\":", Quoted{value.substr(0, kLongestText)});
}

void append_event(std::string& json, std::uint64_t id, const OperatorEvent& event, WallTime at) {
  const auto members = members_of(event);
  JsonLine line(json);
  line.add("{\"id\":", id);
  add_text(line, "time", utc_text(at));
  add_text(line, "severity", word(event.severity));
  line.add(members);
  add_text(line, "message", event.message);
  line.add('}');
}

}  // namespace

std::string members_of(const OperatorEvent& event) {
  std::string members;
  {
    JsonLine line(members);
    add_text(line, "event", kEventKindNames[event.kind]);
    const bool of_mirror = event.kind == OperatorEvent::Kind::mirror;
    if (of_mirror || event.kind == OperatorEvent::Kind::table) add_text(line, "table", event.table);
    if (of_mirror) {
      line.add(",\"shard\":", event.shard, ",\"mirror\":", event.mirror);
      add_text(line, "address", event.address);
    }
    if (of_mirror || event.kind == OperatorEvent::Kind::table) {
      add_text(line, "state", event.state);
      add_text(line, "former_state", event.former_state);
      add_text(line, "reason", event.reason);
    }
    if (of_mirror) {
      add_text(line, "last_error", event.last_error);
      add_text(line, "last_error_at",
               event.last_error.empty() ? "" : utc_text(event.last_error_at));
    }
  }
  return members;
}

void EventLog::add(const OperatorEvent& event, WallTime at) {
  const std::scoped_lock lock(mutex_);
  ++newest_;
  std::string json;
  append_event(json, newest_, event, at);
  if (entries_.size() == kKept) entries_.pop_front();
  entries_.push_back({newest_, std::move(json)});
}

void EventLog::add_and_log(const OperatorEvent& event, WallTime at) {
  log_with_members(event.severity, event.message, {});
  add(event, at);
}

std::vector<EventLog::Entry> EventLog::since(std::uint64_t id, std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  const auto from = std::ranges::upper_bound(entries_, id, {}, &Entry::id);
  const auto count =
      std::min<std::ptrdiff_t>(entries_.end() - from, static_cast<std::ptrdiff_t>(most));
  return {from, from + count};
}

std::uint64_t EventLog::newest() const {
  const std::scoped_lock lock(mutex_);
  return newest_;
}

EventStream::EventStream(Worker& worker, const EventLog& log, std::uint64_t after)
    : worker_(worker), log_(log), last_(after), counted_(worker.monitoring.event_streams) {}

void append_sent_event(std::string& out, const EventLog::Entry& event) {
  fmt::format_to(std::back_inserter(out), "id: {}\ndata: {}\n\n", event.id, event.json);
}

bool EventStream::take_events(std::string& piece) {
  if (log_.newest() == last_) return false;
  const auto events = log_.since(last_, kMostInPiece);
  for (const auto& event : events) {
    append_sent_event(piece, event);
    last_ = event.id;
    if (piece.size() >= kPiece) break;
  }
  return !events.empty();
}

Task<bool> EventStream::next(std::string& piece, Stop& stop) {
  piece.clear();
  const auto silent_until = Loop::now() + kKeepAlive;
  while (!take_events(piece)) {
    if (stop.requested() || worker_.draining()) {
      piece = closing_part(worker_.draining() ? "karmad stops" : "the request was cancelled");
      co_return false;
    }
    if (Loop::now() >= silent_until) {
      piece = ":\n\n";
      break;
    }
    co_await sleep(worker_.loop, Loop::now() + kLook, stop);
  }
  co_return true;
}

std::string EventStream::closing_part(std::string_view why) {
  std::string out = "event: end\ndata: {\"reason\":";
  JsonLine(out).add(Quoted{why}, "}\n\n");
  return out;
}

}  // namespace karmad
