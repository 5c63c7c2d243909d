#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "agent/json/equals_literal.hpp"
#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/http_write.hpp"
#include "balancer/ingress/session.hpp"
#include "balancer/trace/trace_json.hpp"

namespace karmad {
namespace {

constexpr std::size_t kLinger = 1 << 20;  // what is read of a refused body, at most

}  // namespace

/// What the client does not take at once goes out in pieces, each with a network_timeout of its
/// own: a client may read slowly, but it must read.
Task<bool> Session::send_rest(Outgoing out) {
  const std::string head(out.head);
  out.head = head;
  auto error = error_code(asio::error::would_block);
  while (error == asio::error::would_block) {
    if (memory_ != nullptr && memory_->denied()) {
      reset();
      co_return false;
    }
    const Outgoing piece{out.head, out.body.substr(0, kPerTimeout)};
    allow(Phase::writing, settings().network_timeout.value);
    error = co_await write(piece);
    if (error) break;
    out.consume(piece.head.size() + piece.body.size());
    if (worker_.loop.turn.over()) {
      co_await worker_.loop.turn.next();
      if (!open()) co_return false;
    }
    error = write_now(out);
  }
  co_return !error;
}

/// Sends at once, whatever else is under way.
Task<bool> Session::send_now(Outgoing out) {
  const auto error = write_now(out);
  if (error != asio::error::would_block) co_return !error;
  const bool sent = co_await send_rest(out);
  co_return sent;
}

/// Passes the rest of a reply on as it arrives. What the client does not take stays at the agent:
/// only one piece is here at a time. False: the answer is not whole, and the connection is reset.
Task<bool> Session::pass_rest(Query& query, Answer& answer, RestLog& log) {
  worker_.counters.add(Count::replies_passed);
  log.sent(answer.content().size());
  worker_.loop.buffers.give(std::move(answer.reply->bytes));  // its beginning was sent
  answer.reply->bytes.clear();
  answer.reply->memory.release();
  memory_->piece.charge(memory_, kPassedPiece);
  if (departed_) co_return false;
  query_ = &query;  // the client may leave yet
  if (!reading()) watch_departure();
  struct Asking {
    Query*& place;
    ~Asking() { place = nullptr; }
  } asking{query_};
  auto& rest = *answer.rest;
  QueryStop stop(query);
  Buffer piece(worker_.loop.buffers);
  while (rest.left() > 0) {
    phase_ = Phase::answering;
    const bool came = co_await rest.next(*piece, stop);
    if (!came) {
      if (query.client_left) co_return false;
      worker_.counters.add(Count::replies_broken_off);
      if (rest.timed_out()) worker_.counters.add(Count::query_timeouts);
      log.broke_off(rest.why());
      spdlog::debug("query {}: its answer broke off while it was passed on: agent {}: {}", query.id,
                    rest.agent(), rest.why());
      co_return false;
    }
    const bool sent = co_await send_now({{}, *piece});
    if (!sent) co_return false;
    worker_.counters.add(Count::bytes_out, piece->size());
    log.sent(piece->size());
  }
  co_return true;
}

Task<bool> Session::send_answer(const Answer& answer, const RequestHead* head) {
  auto outgoing = write_answer(answer, head);
  within_answer_ = true;
  const auto error = co_await send(outgoing);
  bool sent = !error;
  if (error == asio::error::would_block) sent = co_await send_rest(outgoing);
  within_answer_ = !sent;
  co_return sent;
}

bool Session::stays(const RequestHead* head) const {
  return head != nullptr && head->keep_alive && !ending_ && !worker_.draining();
}

/// What is to be sent, with a head that is good until something waits. No `head`: for a request
/// that could not be read.
Outgoing Session::write_answer(const Answer& answer, const RequestHead* head) {
  auto& out = worker_.loop.head;
  out.clear();
  const auto content = answer.content();
  std::array<Field, 4> extra;
  std::size_t extras = 0;
  std::array<char, 12> seconds;
  if (answer.overloaded) extra[extras++] = {kErrorLabels, "SystemOverloadedError, RetryableError"};
  if (!answer.allow.empty()) extra[extras++] = {"Allow", answer.allow};
  if (answer.retry_after) {
    const auto* end = fmt::format_to(seconds.data(), "{}", *answer.retry_after);
    extra[extras++] = {kRetryAfter, {seconds.data(), end}};
  }
  if (!answer.trace.empty()) extra[extras++] = {kTraceField, answer.trace};
  const Head* passed_on = nullptr;
  if (answer.pass_fields && answer.reply->restore(worker_.loop.response_head))
    passed_on = &worker_.loop.response_head;
  const bool bare = has_no_body(answer.status);
  const bool to_head = head != nullptr && equals_literal(head->method, "HEAD");
  std::optional<std::uint64_t> length = answer.length();
  if (bare) length.reset();
  // What an agent said of the length of a body that is not sent travels on (RFC 9110 section 8.6).
  if (passed_on != nullptr && (answer.status == 304 || to_head)) {
    length.reset();
    if (!passed_on->find("Content-Length").empty()) length = passed_on->content_length;
  }
  write_response_head(
      out, {.status = answer.status,
            .content_type = answer.pass_fields ? std::string_view() : answer.content_type,
            .content_length = length,
            .keep_alive = stays(head),
            .client_minor_version = head != nullptr ? head->minor_version : 1,
            .extra = {extra.data(), extras},
            .passed_on = passed_on});
  const auto body = to_head || bare ? std::string_view() : content;
  worker_.counters.add(Count::bytes_out, out.size() + body.size());
  if (body.size() > kJoinedBody) return {out, body};
  out.append(body);
  return {out, {}};
}

/// Says why, and ends the connection: it is unknown where the next request begins.
Task<bool> Session::refuse(int status, std::string_view reason) {
  worker_.counters.add(Count::bad_requests);
  const bool stays = co_await end_with(refusal(status, reason));
  co_return stays;
}

/// Answers and ends the connection.
Task<bool> Session::end_with(const Answer& answer) {
  co_await send_answer(answer, nullptr);
  if (open()) co_await linger();
  co_return false;
}

/// Reads what the client still sends, for a moment: closing at once would reset the connection, and
/// the answer might never be read.
Task<void> Session::linger() {
  error_code error;
  socket().shutdown(Socket::shutdown_send, error);
  if (error) co_return;
  allow(Phase::lingering, std::min(settings().network_timeout.value, Micros(1s)));
  Buffer ignored(worker_.loop.buffers);
  for (std::size_t total = 0; total < kLinger && open();) {
    ignored->clear();
    if (!co_await more(*ignored)) break;
    total += ignored->size();
  }
}

}  // namespace karmad
