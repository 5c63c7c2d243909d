#include "balancer/endpoints/event_answers.hpp"

#include <fmt/format.h>

#include <charconv>

#include "agent/transport/http/url_encoding.hpp"
#include "balancer/watch/event_log.hpp"

namespace karmad {
namespace {

std::optional<std::uint64_t> event_id(std::string_view text) {
  std::uint64_t id = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, id);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return id;
}

/// The newest id that the client has seen: from the URL, or from the field that a client sends when
/// it reconnects.
std::expected<std::uint64_t, std::string> last_seen(const Query& query) {
  auto parameters = query.request.query;
  std::uint64_t seen = 0;
  if (const auto last_event = event_id(query.head.find("Last-Event-ID"))) seen = *last_event;
  while (const auto parameter = take_parameter(parameters)) {
    const auto id = event_id(parameter->value);
    if (!id)
      return std::unexpected(
          fmt::format("'{}={}' is not allowed: `since` is the id of an event, a whole number",
                      parameter->name, parameter->value));
    seen = *id;
  }
  return seen;
}

std::string all_events(const EventLog& log, std::uint64_t after) {
  std::string body = fmt::format(R"({{"newest":{},"events":[)", log.newest());
  bool follows = false;
  for (const auto& event : log.since(after)) {
    if (std::exchange(follows, true)) body += ",\n";
    body += event.json;
  }
  return body += "]}";
}

}  // namespace

Answer events_answer(Query& query) {
  auto& monitoring = query.worker.monitoring;
  const auto after = last_seen(query);
  if (!after) {
    query.worker.counters.add(Count::bad_requests);
    return refusal(400, after.error());
  }
  if (monitoring.events == nullptr) return refusal(404, "this process keeps no events");
  // The id is older than the last restart: all events are new to the client.
  const auto seen = *after > monitoring.events->newest() ? 0 : *after;
  Answer answer;
  if (!query.head.find("Accept").contains("text/event-stream")) {
    answer.body = all_events(*monitoring.events, seen);
    return answer;
  }
  const auto most = query.topology->settings.max_event_streams.value;
  if (monitoring.event_streams.load(std::memory_order_relaxed) >= most)
    return refusal(
        503, fmt::format("{} clients read the event stream already (max_event_streams)", most));
  answer.content_type = "text/event-stream";
  answer.source = std::make_unique<EventStream>(query.worker, *monitoring.events, seen);
  return answer;
}

}  // namespace karmad
