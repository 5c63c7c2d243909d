#pragma once

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <forward_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "agent/mirrors/agent.hpp"
#include "agent/mirrors/agent_slots.hpp"
#include "agent/mirrors/attempt.hpp"
#include "agent/transport/body_rest.hpp"
#include "balancer/core/compression.hpp"
#include "balancer/core/forwarded.hpp"
#include "balancer/core/request_fields.hpp"
#include "balancer/core/worker.hpp"
#include "balancer/rules/breaker.hpp"
#include "balancer/rules/hedge_plan.hpp"
#include "balancer/trace/request_identity.hpp"
#include "balancer/trace/trace.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Most memory that a passed-on reply uses at a time.
inline constexpr std::size_t kPassedPiece = 64 << 10;

/// Produces the body of an answer while the client reads it. Its length is unknown at the start, so
/// the end of the connection ends the body. One thread.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// Puts the next bytes into `piece`; waits until there are some. False: they are the last ones.
  virtual Task<bool> next(std::string& piece, Stop& stop) = 0;
  /// The last bytes for a client that did not take a piece in time.
  virtual std::string closing_part(std::string_view why) = 0;
};

/// The priority of work in a pool (AC-005, AC-007). normal and low wait for a ticket; low has a
/// small pool of its own if configured; exempt needs no ticket.
enum class Priority : std::uint8_t { normal, low, exempt };
inline constexpr std::size_t kPriorities = 3;
std::string_view name(Priority priority);

class TicketPool;

/// A ticket, held for the life of this object; the destructor returns it to its pool under its
/// priority (AC-003). Created and destroyed on one worker.
class Ticket {
 public:
  Ticket() = default;
  Ticket(Ticket&& other) noexcept { *this = std::move(other); }
  Ticket& operator=(Ticket&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    *this = std::as_const(other);
    other.pool_ = nullptr;
    return *this;
  }
  ~Ticket() { give_back(); }

  explicit operator bool() const { return pool_ != nullptr; }
  /// Returns the ticket now; reads the clock only if the pool counts.
  void give_back() {
    if (pool_ != nullptr) give_back_now();
  }
  void give_back(TimePoint now);

 private:
  void give_back_now();

  friend class TicketPool;

  Ticket(const Ticket&) = default;
  Ticket& operator=(const Ticket&) = default;
  Ticket(TicketPool& pool, TimePoint taken, unsigned worker, Priority priority, bool counted)
      : pool_(&pool), taken_(taken), worker_(worker), priority_(priority), counted_(counted) {}

  TicketPool* pool_ = nullptr;
  TimePoint taken_{};
  unsigned worker_ = 0;
  Priority priority_ = Priority::normal;
  bool counted_ = false;
};

/// The rest of a reply whose beginning is already passed on. While it lives it holds its connection
/// and its slot. The destructor records the attempt: as a failure if the reply broke off; otherwise
/// by its beginning, also when the client left. One thread.
class ResponseStream {
 public:
  struct Source {
    Loop& loop;
    Pool& pool;  ///< of its connection
    MirrorSet& set;
    std::size_t number;    ///< index of the mirror in `set`
    bool tracks_state;     ///< errors are reported to the set's state machine
    Breaker* breaker;      ///< null: disabled
    Micros patience;       ///< longest wait for each 64 KB, without the time the client takes
    Micros open_patience;  ///< longest wait for any byte of a reply without a length
    char ends_in;          ///< Judgement::ends_in
  };
  /// `result`: of the attempt, judged by the reply's beginning; its connection is moved from it.
  ResponseStream(const Source& source, AgentSlot slot, AttemptResult& result);
  ResponseStream& operator=(ResponseStream&&) = delete;
  ~ResponseStream();

  /// Bytes still to be read; kOpenEnd: the length is unknown.
  std::uint64_t unread() const { return unread_; }

  /// Reads the next bytes into `piece`, at most kPassedPiece; waits only if none are available.
  /// Holds back the final bytes until the reply has ended correctly. False: it broke off.
  Task<bool> next(std::string& piece, Stop& stop);

  std::string_view agent() const { return mirror_.agent->name; }
  /// Why it broke off.
  std::string_view why() const { return result_.why; }
  bool timed_out() const { return result_.outcome == Outcome::query_timeout; }

 private:
  Task<bool> next_of_open(std::string& piece, Stop& stop);
  Task<Stream::Read> wait(char* into, std::size_t room, Stop& stop);
  bool end(Stream::Unasked behind);
  void note_last(std::string_view piece);
  bool fail(Outcome outcome, std::string why);
  bool read_failed(const error_code& error, StopReason why);

  Source source_;
  Mirror& mirror_;
  std::optional<AgentSlot> slot_;
  ConnectionPtr connection_;
  std::uint64_t unread_;
  std::unique_ptr<ChunkedBody> chunks_;  ///< null: the rest has no chunks
  AttemptResult result_;                 ///< without the reply
  Micros patience_;
  std::size_t since_ = 0;  ///< bytes read since `patience_` last restarted
  char last_ = 0;          ///< last byte that is not white space
};

/// An error of a mirror whose text does not show whether the query or the mirror caused it. If it
/// may be the query's, it is recorded when that is decided: if a second mirror gives the same
/// error, the query is at fault and both mirrors count as answering; if another mirror answers, or
/// none is left, it is the mirror's error. Belongs to its query.
struct ErrorAttribution {
  const Shard* shard;
  std::size_t mirror;  ///< its position in the set
  std::string text;    ///< text in the form of comparable()
  AttemptResult end;   ///< the attempt, without its reply
  bool recorded;       ///< already, as the mirror's error
};

/// An agent that worked until it closed the connection of a query without an answer.
struct CrashSuspicion {
  std::shared_ptr<Agent> agent;
  bool refused = false;  ///< and then refused a connection
};

struct Answer;
struct Query;
struct SchemaFacts;
struct SqlSession;
namespace sql {
struct StatementList;
}

/// The statements of a request, or why there are none.
using StatementsRead = std::expected<std::shared_ptr<const sql::StatementList>, ClientError>;
/// The same with the request that they were found in: a handle may change that of the query.
struct FoundStatements {
  std::string_view path;
  std::string_view query;
  std::string_view body;
  StatementsRead found;

  bool are_of(const ClientRequest& request) const {
    const auto same = [](std::string_view a, std::string_view b) {
      return a.data() == b.data() && a.size() == b.size();
    };
    return same(path, request.path) && same(query, request.query) && same(body, request.body);
  }
};

/// Sends a query to the shards of its table and makes the answer: scatter_gather(), or a test's
/// function. The parsed query is `query.request.parsed`.
using Scatter = Task<Answer> (*)(Query& query, const Table& table, const Dialect& dialect);

/// Who asks: the connection of the client, and what it keeps for its requests.
struct QueryClient {
  std::string_view address;  ///< the client's, as far as trusted proxies tell it
  std::string_view peer;     ///< of the connection, or that of its PROXY header
  std::string_view proto = "http";
  bool is_told = false;          ///< the address was told by a proxy
  bool is_peer_trusted = false;  ///< the peer is one of `trusted_proxies`
  bool on_admin_port = false;
  bool takes_rows = false;  ///< it reads rows: what karmad answers of itself is no text
  bool left = false;        ///< it has left: the answer is not sent
  bool is_cut_off = false;  ///< it has not, but is treated so: shutdown_timeout is over
  std::unique_ptr<SqlSession>* sql_session = nullptr;  ///< null: the connection has none
  const SchemaFacts* schema_facts = nullptr;           ///< null: of none
  SelectMeta* meta = nullptr;  ///< gets what its dialect tells of it aside; null: not wanted
  std::uint64_t* admissions = nullptr;  ///< those of the connection with low priority
};

/// The same, for the fields X-Forwarded-…
inline ForwardedBy forwarded_by(const QueryClient& client) {
  return {.peer = client.peer, .trusted = client.is_peer_trusted, .proto = client.proto};
}

/// What is asked for: the request as it arrived, its options, and how its endpoint and dialect have
/// read it.
struct QueryRequest : ClientRequest, RequestFields {
  /// The head must outlive it. Without a constructor all of it would be filled with zeros first.
  QueryRequest(const ClientRequest& asked, const RequestLine& with_line, const Head& with_fields)
      : ClientRequest(asked), line(with_line), fields(with_fields) {}
  using ClientRequest::operator=;  // another request is carried out in its place

  const RequestLine& line;         ///< as it arrived
  const Head& fields;              ///< are passed on if the dialect does that
  std::string_view operation;      ///< the kind of request in a word, for the log
  std::string without_preference;  ///< the URL's parameters without those of karmad
  MemoryReservation plain_body;    ///< for the decompressed body
  bool unpacked = false;           ///< `body` was decompressed
  BodyRest* rest = nullptr;  ///< in place of `body`, passed on as it arrives; null: it is whole
  /// Those of a request to an endpoint of statements, once they were looked for; else null.
  std::shared_ptr<const FoundStatements> statements;
  Parsed parsed;                 ///< valid once its dialect has parsed it
  const Table* table = nullptr;  ///< the query was sent to it, and its answer is not counted yet
  /// Owns the tables of lists that the query has named, until its end.
  std::vector<std::shared_ptr<const Table>> combined_tables;
};

/// What it may use.
struct QueryResources {
  TimePoint deadline;              ///< set at the start; never extended
  MemoryHolder* memory = nullptr;  ///< of its session; null: not counted
  Ticket ingress_ticket;           ///< both are held until the answer was handed to the socket
  Ticket work_ticket;

  bool memory_denied() const { return memory != nullptr && memory->denied(); }
};

/// What is recorded of it, for answers, logs and the counters of mirrors.
struct QueryRecord {
  /// Without a constructor all of it would be filled with zeros first.
  QueryRecord(std::uint64_t number, const RequestId& of_client, TraceContext context, TimePoint at,
              std::size_t size)
      : id(number),
        request_id(of_client),
        trace_context(std::move(context)),
        began(at),
        bytes_in(size) {}

  const std::uint64_t id;      ///< unique in this process
  const RequestId request_id;  ///< for clients, agents and logs; may be empty
  const TraceContext trace_context;
  TimePoint began;
  std::optional<TimePoint> part_began;  ///< of the query that is answered, of several in one
  std::size_t bytes_in = 0;             ///< head and body
  Trace trace;
  bool wants_trace = false;                    ///< the client or the access log consumes it
  bool shows_trace = false;                    ///< the client gets it
  bool wants_explanation = false;              ///< the client asks for it
  ExplainRing* explained_in = nullptr;         ///< has its record; null: there is none
  std::size_t explained_at = 0;                ///< its place there
  std::vector<ErrorAttribution> attributions;  ///< errors of mirrors that the query may have caused
  /// Agents that it may have crashed: they closed its connection without an answer.
  std::vector<CrashSuspicion> crashes;
  std::uint64_t last_insert_id = 0;  ///< of the last document that it has made; 0: not known
};

/// A client's request in the balancer, from complete arrival to the answer. The session owns it;
/// everything that refers to it ends earlier.
struct Query {
  /// `with`, the head and the data of the views must outlive it.
  Query(Worker& on, const Topology& with, const RequestHead& head, std::string_view body,
        std::string_view from)
      : Query(on, with, head, head, body, from) {}
  /// A request that has a line but perhaps no fields (kNoFields).
  Query(Worker& on, const Topology& with, const RequestLine& line, const Head& fields,
        std::string_view body, std::string_view from);

  Worker& worker;
  QueryRecord record;
  QueryClient client;
  QueryRequest request;
  QueryResources resources;

  const Topology* topology;
  const Topology* former = nullptr;  ///< the previous one, after a new plan
  std::forward_list<std::shared_ptr<const Topology>> newer_topologies;  ///< owns those of new plans
  /// A shard moved, or what the query waits for was replaced: plan with the current topology
  /// (CO-052).
  bool plan_again = false;
  std::optional<Micros> selection_left;  ///< of `selection_timeout`, for the new plan
  /// Before the next of several requests in one: a new plan was for one before it.
  void forget_new_plan() {
    former = nullptr;
    selection_left.reset();
  }
  /// Counts the answer for the table that gave it. Each of several requests in one has its own.
  void count_answer(int status, TimePoint now) {
    if (const auto* const table = std::exchange(request.table, nullptr))
      table->tally->responded(
          worker.loop.index, status,
          std::chrono::duration_cast<Micros>(now - record.part_began.value_or(record.began)));
  }
  /// Answers the query with the current topology. Set by the caller of the scatter.
  Task<Answer> (*replan)(Query& query, Scatter scatter) = nullptr;

  /// Keeps a text for the life of the query, for a request that a user handle changes.
  std::string_view keep(std::string text) { return kept_.emplace_front(std::move(text)); }

  /// The start time of an attempt. For the first one the query's start if it has not waited:
  /// reading the clock would cost more than the time that has passed.
  TimePoint attempt_begins() { return std::exchange(waited, true) ? Loop::now() : record.began; }
  bool waited;  ///< true once the query has waited; its start is then too old for an attempt

  /// The waits of this query that end when its client leaves.
  boost::container::small_vector<Stop*, 8> stops;
  bool stopped = false;  ///< no further attempts
  /// Ends all waits. The waiting code continues at once; it may end other waits or the query.
  void stop() {
    stopped = true;
    bool destroyed = false;
    auto* const outer = std::exchange(destroyed_, &destroyed);
    while (!destroyed && !stops.empty()) {
      auto* const next = stops.back();
      stops.pop_back();
      next->request(StopReason::cancelled);
    }
    if (!destroyed) {
      destroyed_ = outer;
    } else if (outer != nullptr) {
      *outer = true;
    }
  }
  ~Query() {
    if (destroyed_ != nullptr) *destroyed_ = true;
  }
  Query& operator=(Query&&) = delete;

 private:
  std::forward_list<std::string> kept_;
  bool* destroyed_ = nullptr;  ///< used by stop() while it runs
};

/// A wait that ends when its query is stopped.
class QueryStop final : public Stop {
 public:
  explicit QueryStop(Query& query) : Stop(query.worker.loop), query_(query) {
    query_.stops.push_back(this);
    if (query_.stopped) request(StopReason::cancelled);
  }
  ~QueryStop() override {
    auto& stops = query_.stops;
    const auto gone = std::ranges::remove(stops, static_cast<Stop*>(this));
    stops.erase(gone.begin(), gone.end());
  }

 private:
  Query& query_;
};

inline constexpr std::size_t kMaxAnswerFields = 6;

/// The rows of an answer, for a client that `takes_rows`.
struct AnswerRows {
  std::vector<ResultSet> sets;
  std::vector<Reply> replies;  ///< what the sets refer to
};

/// Overload: the client may repeat the request later, or should not (BP-013).
inline constexpr std::string_view kRetryableOverload = "SystemOverloadedError, RetryableError";
inline constexpr std::string_view kFinalOverload = "SystemOverloadedError";

/// An answer to a client. Its body is `body`, or that of `reply`.
struct Answer {
  Answer() {}  // NOLINT: with `= default` it would be filled with zeros first

  int status = 200;
  std::string_view content_type = "application/json; charset=UTF-8";
  std::string body;
  std::unique_ptr<AnswerRows> rows;        ///< in place of `body`; null: it has none
  MemoryReservation memory;                ///< of `body`, or of the rows
  std::string_view allow;                  ///< value of Allow, with status 405
  std::optional<unsigned> retry_after;     ///< seconds
  std::optional<Reply> reply;              ///< an agent's reply that is passed on
  std::unique_ptr<ResponseStream> rest;    ///< the unread rest of `reply`; null: it is complete
  bool pass_fields = false;                ///< passes on the end-to-end fields of `reply`
  std::string_view error_labels;           ///< value of X-Error-Labels; static, empty: none
  std::span<const Field> fields;           ///< further ones, at most kMaxAnswerFields; static
  std::unique_ptr<BodySource> source;      ///< sends more after `body`; the length is unknown
  std::string generations;                 ///< value of X-Generation; empty: none
  std::string trace;                       ///< value of X-Karmad-Trace; empty: none
  std::string explanation;                 ///< value of X-Karmad-Explain; empty: none
  Coding coding = Coding::identity;        ///< else `body` has what the client gets
  std::unique_ptr<Compressor> compressor;  ///< for the `rest`; null: it passes unchanged
  bool varies = false;                     ///< with the request's Accept-Encoding

  /// The body, or its beginning if there is a `rest`.
  std::string_view content() const {
    return reply && coding == Coding::identity ? reply->body() : std::string_view(body);
  }
  /// The length of the rest is unknown until it has ended.
  bool has_open_end() const { return rest && (compressor || rest->unread() == kOpenEnd); }
  std::uint64_t length() const {
    auto length = content().size() + (rest && !has_open_end() ? rest->unread() : 0);
    if (rows == nullptr) return length;
    for (const auto& set : rows->sets)
      for (const auto cell : set.cells) length += cell.size();
    return length;
  }
};

/// Whether an answer with that status never has a body (RFC 9110 section 6.4.1).
constexpr bool has_no_body(int status) {
  return status == 204 || status == 304;
}

Answer json_answer(int status, std::string body);
/// An error of karmad in the search server's format.
Answer refusal(int status, std::string_view reason);
/// The same in the format of a dialect.
Answer refusal_in(const DialectKind& kind, const Dialect& dialect, int status,
                  std::string_view reason);
/// The same in the format of the dialect that serves the path, if one does.
Answer refusal_at(const Topology& topology, std::string_view path, int status,
                  std::string_view reason);
/// The same for a request that cannot become a query; counted.
Answer bad_request(Query& query, int status, std::string_view reason);

/// Counts a refusal with this status: of a client's mistake, or because of an internal error (500),
/// which the log tells, ten a second. Only on the worker's thread.
void count_refused(Worker& worker, int status, std::string_view reason);

/// Continues `hash` with a text, eight bytes at a time: each request is hashed. Equal texts and
/// starts give equal values.
inline std::uint64_t hashed(std::uint64_t hash, std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;  // 2^64 / the golden ratio
  std::uint64_t word = text.size();
  const auto take = [&] { hash = (std::rotl(hash, 23) ^ word) * kOdd; };
  take();
  const auto* at = text.data();
  const auto* const end = at + text.size();
  for (; end - at > 8; at += 8) {
    std::memcpy(&word, at, 8);
    take();
  }
  if (text.size() >= 8) {
    std::memcpy(&word, end - 8, 8);  // may overlap the word before
  } else {
    for (word = 0; at != end; ++at) word = word << 8 | static_cast<unsigned char>(*at);
  }
  take();
  return hash ^ hash >> 32;
}

/// Identifies the request of a client: equal for repetitions of the same request. A hash of its
/// path and its body (without a body: of its parameters). Of a body beyond 16 KB only the length,
/// the beginning and the end count.
inline std::uint64_t fingerprint(const ClientRequest& request) {
  constexpr std::size_t kPart = 8 << 10;
  const auto text = request.body.empty() ? request.query : request.body;
  auto hash = hashed(hashed(0, request.path), text.substr(0, kPart));
  if (text.size() > kPart) {
    hash = hashed(hash, text.substr(std::max(kPart, text.size() - kPart)));
    hash = hash * 31 + text.size();
  }
  return hash;
}

}  // namespace karmad
