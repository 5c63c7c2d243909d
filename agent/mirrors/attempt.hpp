#pragma once

#include <optional>
#include <string>

#include "agent/mirrors/mirror_set.hpp"
#include "agent/transport/exchange.hpp"
#include "agent/transport/http/http_head.hpp"

namespace karmad {

inline constexpr std::size_t kMaxExtraFields = 6;

/// What one try sends, and how long it may take.
struct AttemptRequest {
  TimePoint began{};  ///< now, or hardly before
  std::string_view method;
  std::string_view target;
  std::string_view content_type;
  std::optional<std::string_view> body;  ///< none for requests that have no content
  std::span<const Field> extra;          ///< further fields; at most kMaxExtraFields
  const Head* passed_on = nullptr;       ///< a head whose end-to-end fields travel along
  bool repeatable = true;  ///< may be sent again on a new connection when a kept one was stale
  Micros connect_timeout{};
  std::optional<Micros>
      first_byte_timeout;  ///< until a reply begins to arrive; none: only the next
  Micros query_timeout{};
  bool note_first_byte = false;  ///< when it came is asked for
  TimePoint deadline{};          ///< of the whole query
  ReplyLimits limits;
};

struct AttemptResult {
  Outcome outcome = Outcome::cancelled;  ///< `answered`: a reply, not yet judged
  std::string why;
  Reply reply;
  ConnectionPtr rest_on;  ///< where the rest of the reply is still to come; null: it is whole
  bool keep_connection = false;  ///< `rest_on`, once nothing is left
  Micros took{};
  TimePoint ended{};
  std::optional<Micros> connect;        ///< how long connecting took, when it had to
  TimePoint sent_at{};                  ///< when the request began to go out
  std::optional<TimePoint> first_byte;  ///< when it came, if that was asked for
  bool first_byte_timeout = false;      ///< it did not come in its time
  bool out_of_time = false;             ///< broken off by the deadline of the whole query
  bool lost_race = false;               ///< broken off because one sent after it answered first
  bool stale = false;                   ///< a kept connection turned out to be closed
  bool unasked = false;                 ///< it sent unrequested bytes
  bool name_refused = false;            ///< not connected because the name leads nowhere
  std::uint64_t generation = 0;         ///< of the connection it was tried on (SD-024)
  bool sent = false;          ///< at least a part of the request may have reached the agent
  bool nothing_done = false;  ///< the agent's answer says that it did nothing of the request
};

/// One try of one request at one agent: a connection, the exchange, and how it ended, in `result`,
/// which is fresh and stays where it is. Broken off by `stop`.
Task<void> attempt(Loop& loop, Pool& pool, const AttemptRequest& request, Stop& stop,
                   AttemptResult& result);

/// Enters the end of an attempt, judged by then, into everything that is known of the mirror and
/// its agent.
void record(Mirror& mirror, Micros failure_floor, unsigned worker, TimePoint now,
            const AttemptResult& result);

/// The same for a ping: it counts for the agent alone, and never as latency.
void record_ping(Agent& agent, unsigned worker, TimePoint now, const AttemptResult& result);

}  // namespace karmad
