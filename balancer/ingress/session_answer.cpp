#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/container/static_vector.hpp>
#include <functional>
#include <utility>

#include "agent/json/equals_literal.hpp"
#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/http/http_write.hpp"
#include "balancer/ingress/session.hpp"

namespace karmad {
namespace {

constexpr int kStreamBuffer = 16 << 10;   // of the kernel, for a body without known length
constexpr Micros kSlowReader = 1s;        // for one piece of a body without known length
constexpr std::size_t kLinger = 1 << 20;  // most bytes that are read of a refused body

constexpr std::string_view kEntityTag = "ETag";

/// Most challenges of an agent that are passed on.
constexpr std::size_t kMostChallenges = 8;
/// Of ours, besides those of an Answer.
constexpr std::size_t kMostFields = 19 + kMostChallenges;
using AnswerFields = boost::container::static_vector<Field, kMostFields + kMaxAnswerFields>;

/// What values of fields refer to.
struct FieldTexts {
  std::array<char, 12> seconds;
  std::string vary;
  std::string weak_tag;
};

/// Whether the connection speaks another protocol behind this answer (101).
bool is_upgraded(const Answer& answer) {
  return answer.reply && answer.reply->upgraded;
}

/// Whether the client can tell where the answer ends without the end of its connection.
bool shows_its_end(const Answer& answer, bool in_chunks) {
  return !answer.source && (in_chunks || !answer.has_open_end());
}

/// Adds what tells of the new protocol, or of the one that 426 demands, as the agent names it.
void add_upgrade(AnswerFields& fields, const Answer& answer, const Head* passed_on) {
  const bool names_one = is_upgraded(answer) || answer.status == 426;  // RFC 9110 section 15.5.22
  if (!names_one || passed_on == nullptr || passed_on->find("Upgrade").empty()) return;
  fields.push_back({"Connection", "Upgrade"});
  fields.push_back({"Upgrade", passed_on->find("Upgrade")});
}

/// Adds what a browser needs to let its page read the answer. `vary`: gets what else it varies
/// with. The agent's own fields of this kind stay behind: `allow_origin` decides.
void add_cors(AnswerFields& fields, const Origins& origins, const CorsRequest* cors,
              std::string& vary) {
  const bool preflight = cors != nullptr && cors->is_preflight;
  const auto origin = origins.any       ? std::string_view("*")
                      : cors == nullptr ? std::string_view()
                                        : std::string_view(cors->origin);
  if (!origins.any) vary.append(", Origin");
  if (preflight) vary.append(", Access-Control-Request-Headers");
  if (origin.empty()) return;
  fields.push_back({"Access-Control-Allow-Origin", origin});
  if (!preflight) {
    fields.push_back({"Access-Control-Expose-Headers",
                      "Retry-After, X-Error-Labels, X-Generation, X-Request-Id"});
    return;
  }
  fields.push_back({"Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE"});
  if (!cors->headers.empty()) fields.push_back({"Access-Control-Allow-Headers", cors->headers});
  fields.push_back({"Access-Control-Max-Age", kPreflightAge});
}

/// Adds what karmad itself says of the answer.
void add_own(AnswerFields& fields, const Answer& answer, std::string_view id, FieldTexts& texts) {
  const auto add = [&](std::string_view name, std::string_view value) {
    fields.push_back(Field{name, value});
  };
  if (!id.empty()) add(kRequestId, id);
  if (!answer.error_labels.empty()) add(kErrorLabels, answer.error_labels);
  if (!answer.allow.empty()) add("Allow", answer.allow);
  if (answer.retry_after) {
    const auto* end = fmt::format_to(texts.seconds.data(), "{}", *answer.retry_after);
    add(kRetryAfter, {texts.seconds.data(), end});
  }
  if (!answer.generations.empty()) add(kGeneration, answer.generations);
  if (!answer.trace.empty()) add(kTraceField, answer.trace);
  if (!answer.explanation.empty()) add(kExplainField, answer.explanation);
  for (const auto& [name, value] : answer.fields) add(name, value);
}

/// Adds what an agent whose other fields stay behind wants to be told.
void add_challenges(AnswerFields& fields, const Answer& answer, Head& head) {
  if (!answer.reply || !answer.reply->restore(head)) return;
  std::size_t challenges = 0;
  for (const auto& [name, value] : head.all())
    if (wire::same_word(name, kAuthenticate) && challenges++ < kMostChallenges)
      fields.push_back({kAuthenticate, value});
}

/// Adds how the body is coded and what it varies with. Other bytes are another representation: a
/// strong tag becomes a weak one (RFC 9110 section 8.8.1).
void add_representation(AnswerFields& fields, const Answer& answer, const Head* passed_on,
                        FieldTexts& texts) {
  std::string of_agent;
  bool says_so = false;
  if (passed_on != nullptr && (answer.varies || !texts.vary.empty()))
    for (const auto& field : passed_on->all()) {
      if (!wire::same_word(field.name, "Vary")) continue;
      of_agent.append(", ").append(field.value);
      wire::for_each_element(field.value, [&](std::string_view element) {
        says_so = says_so || wire::same_word(element, kAcceptEncoding);
      });
    }
  if (answer.varies && !says_so) texts.vary.append(", ").append(kAcceptEncoding);
  if (!texts.vary.empty()) {
    texts.vary.insert(0, of_agent);
    fields.push_back({"Vary", std::string_view(texts.vary).substr(2)});
  }
  if (answer.coding == Coding::identity) return;
  if (answer.status != 304) fields.push_back({kContentEncoding, text(answer.coding)});
  const auto tag = passed_on != nullptr ? passed_on->find(kEntityTag) : std::string_view();
  if (!tag.starts_with('"')) return;
  texts.weak_tag = fmt::format("W/{}", tag);
  fields.push_back({kEntityTag, texts.weak_tag});
}

/// Two connections whose protocol karmad does not know: passes the bytes of each to the other as
/// they arrive. A direction reads the next bytes only when the other side has taken the last ones,
/// so each holds at most kPiece bytes, and none while nothing arrives. One thread.
class Tunnel final : private Deadline {
 public:
  /// Below kUncountedBuffer, so that it need not be reserved.
  static constexpr std::size_t kPiece = (16 << 10) - 1;

  /// `longest_pause`: between two bytes in either direction; asked again once it has passed.
  Tunnel(Worker& worker, Stream& client, Stream& agent, std::function<Micros()> longest_pause)
      : worker_(worker), client_(client), agent_(agent), longest_pause_(std::move(longest_pause)) {}

  /// Returns when both directions have ended, or both connections are closed: after an error, a
  /// pause that is too long, or by the caller. A side that ends its direction may still receive.
  /// `first`: what the client has already sent.
  Task<void> pass(std::string first);

 private:
  struct Direction {
    Stream& from;
    Stream& to;
    Count bytes;
  };

  Task<void> pass_back();
  Task<void> pass_on(Direction direction, std::string first);
  Task<bool> send(const Direction& direction, std::string piece);
  void expired() override;
  void break_off();

  Worker& worker_;
  Stream& client_;
  Stream& agent_;
  std::function<Micros()> longest_pause_;
  TimePoint moved_at_ = Loop::now();  ///< when the last bytes have come
  AsyncEvent came_back_;              ///< the agent's direction has ended
  bool is_back_ = false;
};

/// Waits for bytes: `arrived()` has them.
Task<error_code> receive(Stream& from) {
  if (!from.arrived().empty()) co_return error_code();  // they came while nothing was awaited
  if (!from.open()) co_return asio::error::operation_aborted;
  if (!from.reading()) from.start_read(Tunnel::kPiece);
  const auto got = co_await from.read();
  co_return got.error;
}

Task<void> Tunnel::pass(std::string first) {
  worker_.loop.arm(*this, moved_at_ + longest_pause_());
  spawn(pass_back());
  co_await pass_on({client_, agent_, Count::bytes_in}, std::move(first));
  if (!is_back_) co_await came_back_;
  disarm();
  agent_.close();
}

/// The direction from the agent to the client.
Task<void> Tunnel::pass_back() {
  co_await pass_on({agent_, client_, Count::bytes_out}, {});
  is_back_ = true;
  came_back_.notify();
}

/// Passes bytes on until there are no more. If they cannot be sent, the other direction still
/// brings what the receiver has sent before it left.
Task<void> Tunnel::pass_on(Direction direction, std::string first) {
  auto& [from, to, bytes] = direction;
  bool sent = first.empty();
  if (!sent) sent = co_await send(direction, std::move(first));
  while (sent) {
    const auto error = co_await receive(from);
    if (error == asio::error::eof) {
      if (to.open()) to.end_sending();
      co_return;
    }
    if (error) co_return break_off();
    sent = co_await send(direction, std::exchange(from.arrived(), {}));
  }
}

/// False: the receiver takes no more.
Task<bool> Tunnel::send(const Direction& direction, std::string piece) {
  auto& loop = worker_.loop;
  moved_at_ = Loop::now();
  worker_.counters.add(direction.bytes, piece.size());
  if (loop.turn.over()) co_await loop.turn.next();
  loop.turn.spend(piece.size());
  auto error = error_code(asio::error::not_connected);
  if (direction.to.open()) error = co_await direction.to.write({{}, piece});
  loop.buffers.give(std::move(piece));
  co_return !error;
}

void Tunnel::expired() {
  const auto due = moved_at_ + longest_pause_();
  if (Loop::now() < due) return worker_.loop.arm(*this, due);
  worker_.counters.add(Count::tunnels_timed_out);
  break_off();
}

/// Neither side may take what it has got for the whole.
void Tunnel::break_off() {
  client_.reset();
  agent_.reset();
}

}  // namespace

/// Sends the rest of an answer, of which the socket took a part. Its head is in memory of the
/// worker.
Task<bool> Session::send_rest(Outgoing out) {
  const std::string head(out.head);
  out.head = head;
  co_return co_await send_slowly(out, memory_);
}

/// Sends `out`; at first without waiting.
Task<bool> Session::send_now(Outgoing out) {
  const auto error = write_now(out);
  if (error != asio::error::would_block) co_return !error;
  const bool sent = co_await send_rest(out);
  co_return sent;
}

/// The agent has not sent the rest of its answer.
void Session::note_broken_off(const Query& query, const ResponseStream& rest, RestLog& log) const {
  worker_.counters.add(Count::replies_broken_off);
  if (rest.timed_out()) worker_.counters.add(Count::query_timeouts);
  log.broke_off(rest.why());
  spdlog::debug("query {}: its answer broke off while it was passed on: agent {}: {}",
                query.record.id, rest.agent(), rest.why());
}

/// Passes the rest of a reply on as it arrives. It reads the next piece from the agent only when
/// the client has the last one. False: the answer is incomplete, and the connection is reset.
Task<bool> Session::pass_rest(Query& query, Answer& answer, RestLog& log) {
  worker_.counters.add(Count::replies_passed);
  log.sent(answer.content().size());
  worker_.loop.buffers.give(std::move(answer.reply->bytes));  // the client has these bytes
  answer.reply->bytes.clear();
  answer.reply->memory.release();
  memory_->piece.charge(memory_,
                        kPassedPiece + (answer.compressor ? answer.compressor->memory() : 0));
  if (client_closed_) co_return false;
  query_ = &query;  // a client that leaves ends it
  if (!reading()) watch_for_disconnect();
  const struct QueryScope {
    Session& session;
    ~QueryScope() {
      session.query_ = nullptr;
      session.is_open_ended_ = false;
      session.leaves_when_silent_ = false;
    }
  } scope{*this};
  auto& rest = *answer.rest;
  is_open_ended_ = rest.unread() == kOpenEnd;
  const bool in_chunks = answer.has_open_end() && query.request.fields.minor_version > 0;
  QueryStop stop(query);
  Buffer piece(worker_.loop.buffers);
  while (rest.unread() > 0) {
    phase_ = Phase::answering;
    if (leaves_when_silent_) start_phase(Phase::answering, settings().half_close_wait.value);
    const bool received = co_await rest.next(*piece, stop);
    if (!received) {
      if (!query.client.left) note_broken_off(query, rest, log);
      co_return false;
    }
    if (answer.compressor) co_await compress_piece(worker_, answer, *piece);
    const auto size = piece->size();
    if (in_chunks) make_chunk(*piece);
    if (size == 0) continue;
    const bool sent = co_await send_now({{}, *piece});
    if (!sent) {
      if (!memory_->denied()) on_client_left();
      co_return false;
    }
    worker_.counters.add(Count::bytes_out, piece->size());
    log.sent(size);
  }
  if (answer.compressor) worker_.compressor = std::move(answer.compressor);
  bool ended = true;
  if (in_chunks) ended = co_await send_now({kLastChunk, {}});
  if (ended) log.complete();
  co_return ended;
}

/// Sends a body that is made while it is sent; the connection ends with it. A client that takes
/// longer than a second for a piece is disconnected, and the last piece has the reason; a client
/// that reads nothing is disconnected after `network_timeout`.
Task<bool> Session::send_source(Query& query, BodySource& source) {
  within_answer_ = query.request.method != "HEAD";
  if (!within_answer_) co_return false;
  is_endless_ = true;
  // Otherwise the kernel holds megabytes for a slow client and reports progress in steps that take
  // longer than `network_timeout`, so that the client could not be told the reason.
  error_code ignored;
  socket().set_option(asio::socket_base::send_buffer_size(kStreamBuffer), ignored);
  query_ = &query;
  if (!reading()) watch_for_disconnect();
  QueryStop stop(query);
  Buffer piece(worker_.loop.buffers);
  for (bool more = !client_closed_; more;) {
    phase_ = Phase::answering;
    more = co_await source.next(*piece, stop);
    if (query.client.left || !open()) break;
    const auto began = Loop::now();
    const bool sent = co_await send_now({{}, *piece});
    if (!sent) break;
    worker_.counters.add(Count::bytes_out, piece->size());
    if (Loop::now() - began < kSlowReader) continue;
    worker_.counters.add(Count::slow_clients);
    const auto why = source.closing_part("the client reads too slowly");
    co_await send_now({{}, why});
    more = false;
  }
  query_ = nullptr;
  within_answer_ = false;  // closes the connection without a reset: the body ends there
  co_return false;
}

/// After 101: what follows on both connections is no HTTP. `behind`: what the client has sent after
/// its request.
void Session::keep_upgraded(Answer& answer, std::string_view behind) {
  if (!is_upgraded(answer)) return;
  upgraded_ = std::make_unique<Upgraded>(std::move(answer.reply->upgraded), std::string(behind));
}

/// Passes bytes both ways until both sides have closed. The request has ended with 101: nothing of
/// it is held, and its configuration at most for `stream_timeout`.
Task<void> Session::pass_tunnel() {
  const auto upgraded = std::move(upgraded_);
  const Flight open(worker_.connections.tunnels);
  worker_.counters.add(Count::upgrades);
  phase_ = Phase::answering;  // which has no end
  within_answer_ = true;      // abandon() resets it
  const auto idle = [this] {
    take_settings();
    return settings().stream_timeout.value;
  };
  Tunnel tunnel(worker_, *this, *upgraded->agent, idle);
  co_await tunnel.pass(std::move(upgraded->first));
  within_answer_ = false;
}

/// Logs a request that becomes no query; returns its id. No `head`: it could not be read.
RequestId Session::log_refusal(const Answer& answer, std::size_t bytes_in,
                               const RequestHead* head) {
  static const RequestHead kUnread;
  const auto& known = head != nullptr ? *head : kUnread;
  const auto id =
      request_id(known.find(kRequestId), settings().request_id.value, worker_.loop.random);
  log_refused(
      worker_, settings(),
      {.line = known, .fields = known, .client = client(), .id = id.text(), .bytes_in = bytes_in},
      answer);
  return id;
}

Task<bool> Session::send_answer(const Answer& answer, const RequestHead* head, RequestId id) {
  auto outgoing = write_answer(answer, head, id.text());
  within_answer_ = true;
  const auto error = co_await send(outgoing);
  bool sent = !error;
  if (error == asio::error::would_block) sent = co_await send_rest(outgoing);
  within_answer_ = !sent;
  co_return sent;
}

bool Session::keeps_connection(const RequestHead* head) const {
  return head != nullptr && head->keep_alive && !ending_ && !worker_.retiring();
}

/// The bytes to send. The head is in a buffer of the worker, valid until the next co_await. `head`
/// is null for a request that could not be parsed.
Outgoing Session::write_answer(const Answer& answer, const RequestHead* head, std::string_view id) {
  auto& out = worker_.loop.head;
  out.clear();
  const auto content = answer.content();
  AnswerFields fields;
  FieldTexts texts;
  add_own(fields, answer, id, texts);
  const Head* passed_on = nullptr;
  if (answer.pass_fields && answer.reply->restore(worker_.loop.response_head))
    passed_on = &worker_.loop.response_head;
  if (answer.status == 401 && passed_on == nullptr)
    add_challenges(fields, answer, worker_.loop.response_head);
  const bool bare = has_no_body(answer.status);
  const bool to_head = head != nullptr && equals_literal(head->method, "HEAD");
  const bool upgraded = is_upgraded(answer);
  std::optional<std::uint64_t> length = answer.length();
  if (bare || upgraded || answer.source || answer.has_open_end()) length.reset();
  add_upgrade(fields, answer, passed_on);
  const bool in_chunks =
      answer.has_open_end() && !bare && head != nullptr && head->minor_version > 0;
  if (in_chunks) fields.push_back({"Transfer-Encoding", "chunked"});
  // Without a body the agent's Content-Length is passed on unchanged (RFC 9110 section 8.6).
  if (passed_on != nullptr && (answer.status == 304 || to_head)) {
    length.reset();
    if (!passed_on->find("Content-Length").empty()) length = passed_on->content_length;
  }
  if ((to_head || bare) && answer.coding != Coding::identity) length.reset();  // GET has another
  const bool with_cors = !listener_.admin && !settings().allow_origin.value.empty();
  if (with_cors)
    add_cors(fields, settings().allow_origin.value, told_ != nullptr ? &told_->cors : nullptr,
             texts.vary);
  add_representation(fields, answer, passed_on, texts);
  write_response_head(
      out, {.status = answer.status,
            .content_type = answer.pass_fields ? std::string_view() : answer.content_type,
            .content_length = length,
            .keep_alive = upgraded || (keeps_connection(head) && shows_its_end(answer, in_chunks)),
            .client_minor_version = head != nullptr ? head->minor_version : 1,
            .extra = fields,
            .passed_on = passed_on,
            .drops_cors = with_cors,
            .drops_digests = answer.coding != Coding::identity});
  const auto body = to_head || bare ? std::string_view() : content;
  worker_.counters.add(Count::bytes_out, out.size() + body.size());
  if (in_chunks && !body.empty()) {
    std::string chunk(body);
    make_chunk(chunk);
    out.append(chunk);
    return {out, {}};
  }
  if (body.size() > kJoinedBody) return {out, body};
  out.append(body);
  return {out, {}};
}

/// Refuses a request and ends the connection: the start of the next request is unknown. `head` is
/// null if it is not complete.
Task<bool> Session::refuse(int status, std::string_view reason, std::size_t bytes_in,
                           const RequestHead* head) {
  worker_.counters.add(Count::bad_requests);
  const auto answer = head != nullptr
                          ? refusal_at(*worker_.topology_now(), head->path, status, reason)
                          : refusal(status, reason);
  const bool stays = co_await end_with(answer, log_refusal(answer, bytes_in, head));
  co_return stays;
}

/// Answers and ends the connection.
Task<bool> Session::end_with(const Answer& answer, RequestId id) {
  co_await send_answer(answer, nullptr, id);
  if (open()) co_await linger();
  co_return false;
}

/// Reads for a moment what the client still sends: closing at once would reset the connection, and
/// the client might lose the answer.
Task<void> Session::linger() {
  if (!end_sending()) co_return;
  start_phase(Phase::lingering, std::min(settings().network_timeout.value, Micros(1s)));
  Buffer ignored(worker_.loop.buffers);
  for (std::size_t total = 0; total < kLinger && open();) {
    ignored->clear();
    if (!co_await read_more(*ignored)) break;
    total += ignored->size();
  }
}

}  // namespace karmad
