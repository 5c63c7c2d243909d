// The part of Session that reads requests.
#include <algorithm>
#include <utility>

#include "agent/transport/http/http_write.hpp"
#include "balancer/core/wrong_protocol.hpp"
#include "balancer/ingress/session.hpp"

namespace karmad {

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
  Outgoing out{http2_refusal(), {}};
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
Task<bool> Session::read_body(std::string& in, RequestHead& head, std::string& chunks,
                              std::string_view& body) {
  if (head.framing == Framing::none) co_return true;
  const auto received_body = in.size() - head.size;
  if (head.expect_continue && received_body == 0) {
    Outgoing interim{"HTTP/1.1 100 Continue\r\n\r\n", {}};
    const bool sent = co_await send_now(interim);
    if (!sent) co_return false;
  }
  if (head.framing == Framing::chunked) {
    if (!co_await read_chunks(in, head, chunks)) co_return false;
    body = chunks;
    co_return true;
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
void Session::record_first_head() {
  if (std::exchange(had_head_, true)) return;
  const auto elapsed = Loop::now() - began_;
  worker_.limits.rates.time_to_head.add(static_cast<double>(elapsed.count()));
}

/// Decodes a chunked body into `chunks`; bytes after it stay behind the head in `in`.
Task<bool> Session::read_chunks(std::string& in, RequestHead& head, std::string& chunks) {
  ChunkedBody decoder(settings().max_packet_size.value);
  Buffer rest(worker_.loop.buffers);
  rest->assign(in, head.size);
  in.resize(head.size);
  auto due = kPerTimeout;
  for (;;) {
    const bool has_room =
        co_await make_room(chunks, next_room(chunks.capacity(), chunks.size() + rest->size(),
                                             settings().max_packet_size.value));
    if (!has_room) co_return co_await refuse_for_memory(chunks, head);
    const auto used = decoder.put(*rest, chunks);
    if (!used)
      co_return co_await refuse(used.error().status, used.error().reason, in.size() + chunks.size(),
                                &head);
    rest->erase(0, *used);
    if (decoder.done()) break;
    if (!co_await read_more(*rest)) {
      if (memory_->denied()) co_return co_await refuse_for_memory(chunks, head);
      if (!timed_out_) co_return false;
      co_return co_await refuse(408, "the body of the request did not come in time",
                                in.size() + chunks.size(), &head);
    }
    if (chunks.size() >= due) {
      due = chunks.size() + kPerTimeout;
      start_phase(Phase::reading, settings().network_timeout.value);
    }
  }
  in += *rest;
  co_return parse_request_head(in, head_limits(), head).has_value();
}

}  // namespace karmad
