#include "balancer/ingress/session.hpp"

#include <algorithm>
#include <utility>

#include "agent/json/equals_literal.hpp"
#include "agent/transport/http/http_write.hpp"
#include "balancer/admission/request_gate.hpp"
#include "balancer/core/wrong_protocol.hpp"

namespace karmad {
namespace {

/// Drops an empty line after a request, which starts no request (RFC 9112 section 2.2). The parser
/// handles empty lines before a request.
void skip_empty_line(std::string& in) {
  if (equals_literal(in, "\r\n")) in.clear();
}

/// Size of a request in bytes; the next one follows.
std::size_t size_of(const RequestHead& head) {
  return head.framing == Framing::length ? head.size + static_cast<std::size_t>(head.content_length)
                                         : head.size;
}

/// Borrows a RequestHead of the worker for a request.
struct HeadLease {
  explicit HeadLease(Worker& of) : worker(of) {}
  HeadLease& operator=(HeadLease&&) = delete;
  ~HeadLease() { worker.give_head(std::move(head)); }

  Worker& worker;
  std::unique_ptr<RequestHead> head = worker.take_head();
};

}  // namespace

Session::Session(Worker& worker, Socket socket, ClientAddress client, const ListenerKind& listener)
    : ClientConnection(worker, std::move(socket), std::move(client),
                       listener.admin ? worker.connections.admin_open : worker.connections.open),
      listener_(listener) {}

void Session::end() {
  watch_.reset();
  if (within_answer_) return reset();
  close();
}

void Session::abandon() {
  ending_ = true;
  end();
  if (query_ == nullptr) return;
  query_->client.is_cut_off = !std::exchange(query_->client.left, true);
  query_->stop();
}

/// Called when a read ends while a query runs.
void Session::unexpected() {
  if (!last().error) {
    unread_ = true;  // the next request; it waits
    if (query_ != nullptr) watch_for_disconnect();
    return;
  }
  if (last().error != asio::error::eof) return on_client_left();
  if (query_ != nullptr) watch_for_disconnect();
  // The watch learns of the end of the connection, not of that of TLS within it.
  if (query_ == nullptr || tls() != nullptr) on_half_closed();
}

void Session::watch_for_disconnect() {
  if (watch_) return;
  watch_ = std::make_unique<Watch>(*this);
}

/// An interim response (RFC 9110 section 15.2), which a client that waits reads over. The peer of a
/// closed connection refuses it, and `watch_` learns that.
void Session::ask_whether_there() {
  if (query_ == nullptr || within_answer_ || query_->request.fields.minor_version == 0) return;
  Outgoing interim{"HTTP/1.1 100 Continue\r\n\r\n", {}};
  [[maybe_unused]] const auto error = write_now(interim);  // the watch learns of it
}

void Session::phase_timed_out() {
  if (phase_ == Phase::reading) {
    cancel();  // the reader answers 408
  } else {
    end();
  }
}

/// Runs the session to its end. Besides the session, an idle connection needs only this frame.
Background Session::run(boost::intrusive_ptr<Session> self) {
  bool stays = true;
  if (self->tls() != nullptr) stays = co_await self->begin_tls();
  while (stays && self->open()) {
    self->await_request();
    auto got = co_await self->read();
    if (got.error && got.error == asio::error::operation_aborted &&
        self->has_bytes()) {  // by drain()
      self->start_read();
      got = co_await self->read();
    }
    if (got.error) {
      self->report_tls_failure();
      break;
    }
    self->unread_ = true;
    stays = co_await self->answer_requests();
    stays = stays && !self->ending_;
  }
  if (self->upgraded_) co_await self->pass_tunnel();
  const bool lingers = self->worker_.retiring() && self->open() && !self->within_answer_;
  if (lingers) co_await self->linger();
  self->end();
}

/// Completes the handshake, or tells a client of plain HTTP that TLS is spoken here. False: the
/// connection ends.
Task<bool> Session::begin_tls() {
  take_settings();
  start_phase(Phase::idle, settings().network_timeout.value);
  auto error = co_await shake_hands_of_tls();
  if (error == asio::error::operation_aborted && open() && has_bytes())  // by drain()
    error = co_await shake_hands_of_tls();
  if (!error) co_return !ending_ || tls()->is_ready() || has_bytes();
  report_tls_failure();
  if (!open() || !tls()->is_plain_http()) co_return false;
  encrypt(nullptr);
  co_await refuse(400, "TLS is spoken here: use https://", 0);
  co_return false;
}

void Session::await_request() {
  take_settings();
  start_phase(Phase::idle,
              had_request_ ? settings().client_timeout.value : settings().network_timeout.value);
  if (!unread_ && !reading()) start_read();
}

/// Keeps a read outstanding while the query runs: it notices a client that leaves. `has_next`: a
/// further request has arrived.
void Session::prepare_answer(bool has_next) {
  if (!has_next && !unread_ && !reading()) start_read();
  phase_ = Phase::answering;
  take_settings();
}

/// Starts the query: from now on a client that leaves ends it.
void Session::start_query(Query& query) {
  query.resources.memory = memory_;
  query.client.on_admin_port = listener_.admin;
  if (tls() != nullptr) query.client.proto = "https";
  query.client.peer = client_;
  query.client.is_told = is_told_;
  if (told_ != nullptr) {
    query.client.is_told |= told_->client.has_value();
    query.client.is_peer_trusted = told_->peer_trusted;
  }
  query.client.admissions = &low_admissions_;
  query.client.sql_session = &sql_session_;
  worker_.counters.add(Count::bytes_in, query.record.bytes_in);
  query_ = &query;
  if (!reading()) watch_for_disconnect();
  open_trace(query);
}

/// Ends the query; may replace its answer.
void Session::finish_query(Query& query, Answer& answer) {
  query_ = nullptr;
  if (memory_->denied() && !query.client.left) answer = answer_for_memory(query);
  close_trace(query, answer);
  if (!answer.reply || has_no_body(answer.status)) answer.rest.reset();
}

/// Called when the answer was sent; reuses its memory.
void Session::recycle(Answer& answer) {
  within_answer_ = false;
  worker_.loop.buffers.give(std::move(answer.body));
  if (answer.reply) worker_.loop.buffers.give(std::move(answer.reply->bytes));
}

/// Removes an answered request of `size` bytes from `in`.
void Session::drop_request(std::string& in, std::size_t size) {
  watch_.reset();
  told_.reset();
  memory_->release();
  in.erase(0, size);
  if (!in.empty()) memory_->body.charge(memory_, in.capacity());
}

/// Answers all requests that have arrived. False: the connection has ended. One coroutine, because
/// another would cost every request a frame.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
Task<bool> Session::answer_requests() {
  const HeadLease lease(worker_);
  auto& head = *lease.head;
  Memory memory(*this);
  Buffer in(worker_.loop.buffers, std::move(arrived()));
  unread_ = false;
  for (skip_empty_line(*in); !in->empty(); skip_empty_line(*in)) {
    had_request_ = true;
    take_settings();  // a reload may have come while the connection was idle
    std::string chunks;
    std::string_view body;
    const auto received = parse_received(*in, head, body);
    const bool whole = received == ReceivedPart::whole;
    if (!whole) start_phase(Phase::reading, settings().network_timeout.value);
    if (received == ReceivedPart::part_of_head) {
      const bool complete = co_await read_head(*in, head);
      if (!complete) co_return false;
    }
    record_head();
    if (settings_->notes_clients) note_told(head);
    const ArrivedHead arrived{worker_, *settings_, head, number(), memory, whole, listener_.admin};
    const bool is_preflight = told_ != nullptr && told_->cors.is_preflight;
    auto refused = is_preflight ? answer_preflight() : refuse_on_head(arrived);
    if (const auto* const auth = refused ? nullptr : settings().auth_of(listener_)) {
      phase_ = Phase::answering;
      refused = co_await refuse_client(arrived, *auth, client());
      if (!open()) co_return false;
      if (!whole) start_phase(Phase::reading, settings().network_timeout.value);
    }
    if (!refused && !whole) refused = refuse_path(arrived);
    if (refused && refused->ends_connection) {
      const auto id = log_refusal(refused->answer, head.size, &head);
      in.give_back();
      memory.release();
      co_return co_await end_with(refused->answer, id);
    }
    std::unique_ptr<StreamedBody> stream;
    if (!whole) {
      const bool streams = !refused && streams_body(arrived);
      bool complete = false;
      if (streams || head.framing == Framing::chunked) {
        const auto most = streams ? settings().request_buffer_size : settings().max_packet_size;
        complete = co_await begin_stream(stream, most.value, *in, head, chunks);
        body = chunks;
      } else {
        complete = co_await read_body(*in, head, body);
      }
      if (!complete) co_return false;
    }
    const auto size = stream ? head.size : size_of(head);
    bool keep_alive = false;
    if (refused) {
      phase_ = Phase::answering;
      keep_alive = keeps_connection(&head);
      const auto id = log_refusal(refused->answer, size, &head);
      const bool sent = co_await send_answer(refused->answer, &head, id);
      if (!sent) co_return false;
    } else {
      prepare_answer(in->size() > size || stream);
      Query query(worker_, *settings_, head, body, client());
      query.request.rest = stream.get();
      start_query(query);
      auto asked = pass_pipeline(query);
      auto& answer = co_await asked;
      if (settings_->settings.compress.value != Compress::off)
        co_await compress_answer(query, answer, memory_);
      if (stream) end_stream(*stream, query, answer);
      finish_query(query, answer);
      RestLog log(query, answer);
      if (query.client.left || !open()) co_return false;
      keep_alive = keeps_connection(&head) &&
                   (!answer.has_open_end() || query.request.fields.minor_version > 0);
      auto outgoing = write_answer(answer, &head, query.record.request_id.text());
      within_answer_ = true;
      const auto error = co_await send(outgoing);
      bool sent = !error;
      if (!sent && error == asio::error::would_block) sent = co_await send_rest(outgoing);
      if (sent && answer.rest) sent = co_await pass_rest(query, answer, log);
      if (sent && answer.source) sent = co_await send_source(query, *answer.source);
      if (!sent) co_return false;
      keep_upgraded(answer, stream ? stream->behind() : std::string_view(*in).substr(size));
      recycle(answer);
    }
    drop_request(*in, size);
    if (stream && stream->has_ended()) *in = stream->take_behind();
    if (stream && !stream->has_ended() && open()) co_await linger();
    if (upgraded_ || !keep_alive || ending_ || !open()) co_return false;
  }
  co_return true;
}

// ---- what a request tells of its client

/// The topology asks for it: there are `trusted_proxies`, or an `allow_origin`.
void Session::note_told(const RequestHead& head) {
  told_ = std::make_unique<ToldByFields>();
  const auto& trusted = settings().trusted_proxies.value;
  told_->peer_trusted = is_trusted(trusted, address_);
  if (told_->peer_trusted)
    if (const auto client = forwarded_client(head, trusted))
      told_->client = ClientAddress::of(*client);
  const auto& origins = settings().allow_origin.value;
  if (!listener_.admin && !origins.empty()) told_->cors = cors_request(head.method, head, origins);
}

std::string_view Session::client() const {
  return told_ != nullptr && told_->client ? std::string_view(told_->client->text) : client_;
}

const std::optional<IpAddress>& Session::number() const {
  return told_ != nullptr && told_->client ? told_->client->number : address_;
}

/// The answer to a browser that asks beforehand; it needs no ticket and counts for no rate.
std::optional<EarlyRefusal> Session::answer_preflight() {
  if (told_->cors.origin.empty()) {
    worker_.counters.add(Count::bad_requests);
    return EarlyRefusal{refusal(403, "pages of this origin may not send requests"), false};
  }
  Answer answer;
  answer.status = 204;
  answer.content_type = {};
  return EarlyRefusal{std::move(answer), false};
}

// ---- reading requests

/// Appends the next bytes to `in`; false if none will come.
Task<bool> Session::read_more(std::string& in) {
  if (!unread_ && !reading()) start_read();
  const auto got = co_await read();
  unread_ = false;
  // The clock may have expired between the read and this resumption.
  if (got.error || (timed_out_ && phase_ == Phase::reading)) co_return false;
  if (in.empty()) {
    in.swap(arrived());
  } else {
    in.append(arrived());
  }
  worker_.loop.buffers.give(std::move(arrived()));
  co_return true;
}

HeadLimits Session::head_limits() const {
  return {settings().max_header_size.value, settings().max_header_count.value};
}

/// How much of a request has arrived. Most requests arrive in one piece; then `head` and `body` are
/// set.
Session::ReceivedPart Session::parse_received(const std::string& in, RequestHead& head,
                                              std::string_view& body) const {
  const auto state = parse_request_head(in, head_limits(), head);
  if (!state || *state != HeadState::complete) return ReceivedPart::part_of_head;
  if (head.framing == Framing::none) return ReceivedPart::whole;
  if (head.framing != Framing::length || head.content_length > settings().max_packet_size.value ||
      in.size() - head.size < head.content_length)
    return ReceivedPart::head;
  body = std::string_view(in).substr(head.size, static_cast<std::size_t>(head.content_length));
  return ReceivedPart::whole;
}

/// Refuses a head that cannot be parsed. A connection that begins with another protocol is
/// reported.
Task<bool> Session::refuse_head(HeadError error, std::string_view in) {
  using enum WireProtocol::Kind;
  const auto spoken = had_head_ ? std::nullopt : recognize_protocol(in);
  if (!spoken || spoken->kind == http)
    co_return co_await refuse(error.status, error.reason, in.size());
  report_wrong_protocol(worker_, client_, socket(), *spoken, ListenerProtocol::http);
  const auto reason = wrong_protocol_refusal(*spoken, ListenerProtocol::http);
  if (spoken->kind != http2) co_return co_await refuse(error.status, reason, in.size());
  worker_.counters.add(Count::bad_requests);
  log_refusal(refusal(error.status, reason), in.size(), nullptr);
  const Outgoing out{http2_refusal(), {}};
  co_await send_now(out);
  if (open()) co_await linger();
  co_return false;
}

/// Reads until the head is complete, or refuses the request. False: the connection has ended.
Task<bool> Session::read_head(std::string& in, RequestHead& head) {
  for (;;) {
    const auto state = parse_request_head(in, head_limits(), head);
    if (!state) co_return co_await refuse_head(state.error(), in);
    if (*state == HeadState::complete) co_return true;
    if (!co_await read_more(in)) {
      if (!timed_out_) co_return false;
      co_return co_await refuse(408, "the head of the request did not come in time", in.size());
    }
  }
}

/// Reads the rest of the body, or refuses the request. False: the connection has ended.
Task<bool> Session::read_body(std::string& in, RequestHead& head, std::string_view& body) {
  if (head.framing == Framing::none) co_return true;
  const auto received_body = in.size() - head.size;
  if (head.expect_continue && received_body == 0) {
    const Outgoing interim{"HTTP/1.1 100 Continue\r\n\r\n", {}};
    const bool sent = co_await send_now(interim);
    if (!sent) co_return false;
  }
  const auto whole = head.size + static_cast<std::size_t>(head.content_length);
  if (in.size() < whole) {
    co_await read_up_to(in, whole);
    // `in` may have been reallocated.
    if (!parse_request_head(in, head_limits(), head)) co_return false;
    if (memory_->denied()) co_return co_await refuse_for_memory(in, head);
    if (in.size() < whole) {
      if (!timed_out_) co_return false;
      co_return co_await refuse(408, "the body of the request did not come in time", in.size(),
                                &head);
    }
  }
  body = std::string_view(in).substr(head.size, static_cast<std::size_t>(head.content_length));
  co_return true;
}

/// Reads until `in` has `whole` bytes; fewer if the client leaves, the clock expires or memory is
/// denied.
Task<void> Session::read_up_to(std::string& in, std::size_t whole) {
  auto due = in.size() + kPerTimeout;
  while (in.size() < whole) {
    // Reads directly into `in`, in steps that grow with the bytes received.
    if (unread_ || reading()) {
      if (!co_await read_more(in)) co_return;
      continue;
    }
    if (worker_.loop.turn.over()) {
      co_await worker_.loop.turn.next();
      if (timed_out_ || !open()) co_return;
    }
    const auto have = in.size();
    const auto room = std::min({whole - have, std::max(have, kPerTimeout), kMostAtOnce});
    const bool has_room = co_await make_room(in, next_room_of(whole, in.capacity(), have + room));
    if (!has_room) co_return;
    resize_for_reading(in, have + room);
    auto got = read_now(in.data() + have, room);
    if (got.error == asio::error::would_block) {
      start_read(in.data() + have, room);
      got = co_await read();
    }
    in.resize(have + got.size);
    if (got.error || timed_out_) co_return;
    if (in.size() >= due) {
      due = in.size() + kPerTimeout;
      start_phase(Phase::reading, settings().network_timeout.value);
    }
  }
}

/// Called when a head is complete.
void Session::record_head() {
  worker_.counters.add(Count::requests);
  if (std::exchange(had_head_, true)) return;
  const auto elapsed = Loop::now() - began_;
  worker_.limits.rates.time_to_head.add(static_cast<double>(elapsed.count()));
}

/// Begins to take a body in chunks, or one that is passed on while it arrives. One in chunks that
/// ends within `most` bytes is complete: it is in `chunks`, and `stream` is empty. False: the
/// connection has ended.
Task<bool> Session::begin_stream(std::unique_ptr<StreamedBody>& stream, std::size_t most,
                                 std::string& in, RequestHead& head, std::string& chunks) {
  stream = std::make_unique<StreamedBody>(*this, in, head);
  const bool came = co_await stream->keep_beginning(most);
  if (!came) {
    chunks = stream->take_kept();
    if (memory_->denied()) co_return co_await refuse_for_memory(chunks, head);
    const auto& error = stream->error();
    if (!error) co_return false;
    co_return co_await refuse(error->status, error->reason, in.size() + stream->size(), &head);
  }
  if (!stream->has_ended()) co_return true;
  chunks = stream->take_kept();
  in += stream->take_behind();
  stream.reset();
  co_return parse_request_head(in, head_limits(), head).has_value();
}

/// Called when the query has its answer. The next request is behind the body: if the agent has not
/// taken all of it, there is none.
void Session::end_stream(const StreamedBody& stream, Query& query, Answer& answer) {
  query.record.bytes_in += stream.size();
  worker_.counters.add(Count::bytes_in, stream.size());
  if (stream.has_ended()) return;
  ending_ = true;
  if (stream.begun()) worker_.counters.add(Count::requests_broken_off);
  if (stream.error()) answer = bad_request(query, stream.error()->status, stream.error()->reason);
}

// ---- `memory_limit`

/// Reserves memory for `room` bytes of a request's body. False: memory was denied.
Task<bool> Session::make_room(std::string& bytes, std::size_t room) {
  if (room <= bytes.capacity()) co_return true;
  const bool granted = co_await reserve(worker_.loop, memory_->body, memory_, room);
  if (!granted) co_return false;
  co_await grow(worker_.loop, bytes, room);
  memory_->body.charge(memory_, bytes.capacity());
  co_return true;
}

/// Frees the received part of a body, answers with the reason, and ends the connection.
Task<bool> Session::refuse_for_memory(std::string& bytes, const RequestHead& head) {
  memory_->body.release();
  const auto answer = memory_refusal(worker_.limits.memory, memory_->denial(), /*repeatable=*/true);
  const auto id = log_refusal(answer, bytes.size(), &head);
  worker_.loop.buffers.give(std::exchange(bytes, {}));
  memory_->forgive();
  const bool stays = co_await end_with(answer, id);
  co_return stays;
}

/// The answer to a query that was denied memory; replaces its own answer.
Answer Session::answer_for_memory(const Query& query) {
  const auto why = memory_->denial();
  memory_->forgive();
  worker_.counters.add(Count::queries_failed);
  return memory_refusal(worker_.limits.memory, why, query.request.parsed.read);
}

void Session::Memory::on_denied(MemoryDenial why) {
  count_denial(session.worker_.counters, why);
  session.end_soon_for_memory();
}

/// Cancels what the request waits for. If a part of the answer was sent, the connection is reset,
/// so that the client does not take the part for a complete answer.
void Session::end_for_memory() {
  if (memory_ == nullptr || !memory_->denied()) return;
  if (phase_ == Phase::reading) return cancel();
  if (phase_ == Phase::writing) return reset();
  if (phase_ == Phase::answering && query_ != nullptr) query_->stop();
}

}  // namespace karmad
