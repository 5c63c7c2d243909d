#pragma once

#include <optional>
#include <string>

#include "agent/mirrors/mirror_set.hpp"
#include "agent/transport/exchange.hpp"
#include "agent/transport/http/http_head.hpp"

namespace karmad {

/// The request and the timeouts of one attempt.
struct AttemptRequest {
  TimePoint began{};  ///< start time, a little in the past at most
  std::string_view method;
  std::string_view target;
  std::string_view host;  ///< value of Host; empty: the agent's address
  std::string_view content_type;
  std::optional<std::string_view> body;  ///< none: the request has no content
  BodyRest* rest = nullptr;              ///< in place of `body`, as it arrives; null: there is none
  std::span<const Field> extra;          ///< further fields
  const Head* passed_on = nullptr;       ///< head whose end-to-end fields are passed on
  std::string_view withheld{};           ///< name of a field of it that is not passed on
  unsigned hops = 0;                     ///< value of X-Karmad-Hops; 0: it is not sent
  bool repeatable = true;    ///< may be resent on a new connection if a kept one was stale
  bool looks_first = false;  ///< notices that a kept connection was closed before it is used
  Micros connect_timeout{};
  std::optional<Micros>
      first_byte_timeout;  ///< until a reply begins to arrive; none: only the next; not with `rest`
  Micros query_timeout{};  ///< of a streamed request: for each piece, without the client's time
  bool note_first_byte = false;  ///< records the times of the first byte and of the head's end
  TimePoint deadline{};          ///< deadline of the whole query
  ReplyLimits limits;
};

/// What has not been read of a reply.
struct RestOfReply {
  ConnectionPtr on;              ///< the connection with it; null: the reply is complete
  bool keep_connection = false;  ///< once the rest was read
};

struct AttemptResult {
  Outcome outcome = Outcome::cancelled;  ///< `answered`: a reply, not yet judged
  std::string why;
  Reply reply;
  RestOfReply rest;
  Micros took{};
  TimePoint ended{};
  std::optional<Micros> connect;        ///< duration of connecting, if it was necessary
  TimePoint sent_at{};                  ///< when sending of the request began
  std::optional<TimePoint> first_byte;  ///< its time, if requested
  std::optional<TimePoint> head;        ///< when the reply's head was complete, likewise
  bool first_byte_timeout = false;      ///< no reply within first_byte_timeout
  bool out_of_time = false;             ///< ended by the deadline of the whole query
  bool lost_race = false;               ///< cancelled because a later attempt answered first
  bool stale = false;                   ///< a kept connection had been closed by the agent
  bool unasked = false;                 ///< the agent sent bytes that were not requested
  bool name_refused = false;            ///< not connected: the name does not resolve
  std::uint64_t generation = 0;         ///< of the connection that was used (SD-024)
  bool sent = false;                    ///< a part of the request may have reached the agent
  bool nothing_done = false;            ///< the answer says that the agent did nothing
  bool update = false;                  ///< it changes data: its time is no measure for searches
};

/// Runs one attempt: gets a connection, exchanges request and reply, and writes the end to
/// `result`, which must be fresh and must not move meanwhile. `stop` ends it early.
Task<void> attempt(Loop& loop, Pool& pool, const AttemptRequest& request, Stop& stop,
                   AttemptResult& result);

/// Records a finished and judged attempt in all counters of the mirror and its agent.
void record(Mirror& mirror, Micros failure_floor, unsigned worker, TimePoint now,
            const AttemptResult& result);

/// The same for a ping with that round trip: counted for the agent only, never as latency.
void record_ping(Agent& agent, unsigned worker, TimePoint now, Micros trip,
                 const AttemptResult& result);

}  // namespace karmad
