#pragma once

#include "agent/transport/destination.hpp"
#include "balancer/core/body_source.hpp"
#include "balancer/core/worker.hpp"
#include "balancer/watch/event_log.hpp"

namespace karmad {

/// Events as a stream of server-sent events (HTML Living Standard, section 9.2): those after an id,
/// then each new one within a quarter of a second. Ends when karmad stops.
class EventStream final : public BodySource {
 public:
  static constexpr Micros kLook = std::chrono::milliseconds(250);
  /// A comment is sent after this time without events, so that proxies keep the connection.
  static constexpr Micros kKeepAlive = std::chrono::seconds(15);
  /// A piece ends with the event that reaches this size: a client gets a second for each piece.
  static constexpr std::size_t kPiece = 8 << 10;
  static constexpr std::size_t kMostInPiece = 50;

  EventStream(Worker& worker, const EventLog& log, std::uint64_t after);

  Task<bool> next(std::string& piece, Stop& stop) override;
  std::string closing_part(std::string_view why) override;

 private:
  bool take_events(std::string& piece);

  Worker& worker_;
  const EventLog& log_;
  std::uint64_t last_;
  Flight counted_;  ///< in Monitoring::event_streams
};

/// One event in the format of the stream.
void append_sent_event(std::string& out, const EventLog::Entry& event);

}  // namespace karmad
