#include "balancer/watch/event_stream.hpp"

#include <fmt/format.h>

#include "agent/json/json_line.hpp"

namespace karmad {

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
  {
    JsonLine line(out);
    line.add_quoted(why);
  }
  out += "}\n\n";
  return out;
}

}  // namespace karmad
