// How a session reads a request.
#include <fmt/format.h>

#include <algorithm>

#include "agent/transport/http/http_write.hpp"
#include "balancer/endpoints/endpoints.hpp"
#include "balancer/ingress/session.hpp"
#include "balancer/pipeline/ticket_gate.hpp"

namespace karmad {
namespace {

/// Whether the body of a refused request is sooner read than the connection made anew.
bool is_dropped_easily(const RequestHead& head) {
  return head.framing == Framing::none ||
         (head.framing == Framing::length && head.content_length <= kPerTimeout &&
          !head.expect_continue);
}

}  // namespace

/// Appends what comes next to `in`; false when nothing more comes.
Task<bool> Session::more(std::string& in) {
  if (!unread_ && !reading()) start_read();
  const auto got = co_await read();
  unread_ = false;
  // The time may have ended while what was read waited for its turn.
  if (got.error || (timed_out_ && phase_ == Phase::reading)) co_return false;
  if (in.empty()) {
    in.swap(arrived());
  } else {
    in.append(arrived());
  }
  worker_.loop.buffers.give(std::move(arrived()));
  co_return true;
}

/// Whether a whole request is there: then `head` and `body` are it. Most come in one piece.
bool Session::here(const std::string& in, RequestHead& head, std::string_view& body) const {
  const auto state = parse_request_head(
      in, {settings().max_header_size.value, settings().max_header_count.value}, head);
  if (!state || *state != HeadState::complete) return false;
  if (head.framing == Framing::none) return true;
  if (head.framing != Framing::length || head.content_length > settings().max_packet_size.value ||
      in.size() - head.size < head.content_length)
    return false;
  body = std::string_view(in).substr(head.size, static_cast<std::size_t>(head.content_length));
  return true;
}

/// Reads a request that did not come in one piece, from what is there of it; or refuses it.
Task<bool> Session::read_request(std::string& in, RequestHead& head, std::string& chunks,
                                 std::string_view& body) {
  const HeadLimits limits{settings().max_header_size.value, settings().max_header_count.value};
  for (;;) {
    const auto state = parse_request_head(in, limits, head);
    if (!state) co_return co_await refuse(state.error().status, state.error().reason);
    if (*state == HeadState::complete) break;
    if (!co_await more(in)) {
      if (!timed_out_) co_return false;
      co_return co_await refuse(408, "the head of the request did not come in time");
    }
  }
  count_head(head);
  if (over_rate_ && !is_dropped_easily(head)) {
    worker_.counters.add(Count::requests);
    co_return co_await end_with(too_many_requests(worker_, *over_rate_));
  }
  const auto most = settings().max_packet_size.value;
  if (head.framing == Framing::none) co_return true;
  if (head.framing == Framing::length && head.content_length > most)
    co_return co_await refuse(413, fmt::format("the request's body of {} bytes is larger than "
                                               "max_packet_size ({})",
                                               head.content_length, most));
  if (!has_room_for(head)) co_return co_await refuse_for_memory(in);
  const auto body_here = in.size() - head.size;
  if (head.expect_continue && body_here == 0) {
    Outgoing go_on{"HTTP/1.1 100 Continue\r\n\r\n", {}};
    const bool told = co_await send_now(go_on);
    if (!told) co_return false;
  }
  if (head.framing == Framing::chunked) {
    if (!co_await read_chunks(in, head, chunks)) co_return false;
    body = chunks;
    co_return true;
  }
  const auto whole = head.size + static_cast<std::size_t>(head.content_length);
  if (in.size() < whole) {
    co_await read_up_to(in, whole);
    if (memory_->denied()) co_return co_await refuse_for_memory(in);
    if (in.size() < whole) {
      if (!timed_out_) co_return false;
      co_return co_await refuse(408, "the body of the request did not come in time");
    }
    // The bytes may have moved.
    if (!parse_request_head(in, limits, head)) co_return false;
  }
  body = std::string_view(in).substr(head.size, static_cast<std::size_t>(head.content_length));
  co_return true;
}

/// Reads on until `in` has `whole` bytes, or less when the client, the time or the memory ends it.
Task<void> Session::read_up_to(std::string& in, std::size_t whole) {
  auto due = in.size() + kPerTimeout;
  while (in.size() < whole) {
    // Straight to its place, in steps that grow with what has come.
    if (unread_ || reading()) {
      if (!co_await more(in)) co_return;
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
      allow(Phase::reading, settings().network_timeout.value);
    }
  }
}

/// What a complete head means for the rates, before anything is done for the request.
void Session::count_head(const RequestHead& head) {
  over_rate_.reset();
  if (!greeted_) {
    greeted_ = true;
    const auto took = Loop::now() - began_;
    worker_.process.rates.time_to_head.add(static_cast<double>(took.count()));
  }
  if (settings_->limits_requests)
    over_rate_ = over_rate(worker_, *settings_, head, answers_itself(head.path), address_);
}

/// Takes a chunked body apart; what follows it stays behind the head in `in`.
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
    if (!has_room) co_return co_await refuse_for_memory(chunks);
    const auto used = decoder.put(*rest, chunks);
    if (!used) co_return co_await refuse(used.error().status, used.error().reason);
    rest->erase(0, *used);
    if (decoder.done()) break;
    if (!co_await more(*rest)) {
      if (memory_->denied()) co_return co_await refuse_for_memory(chunks);
      if (!timed_out_) co_return false;
      co_return co_await refuse(408, "the body of the request did not come in time");
    }
    if (chunks.size() >= due) {
      due = chunks.size() + kPerTimeout;
      allow(Phase::reading, settings().network_timeout.value);
    }
  }
  in += *rest;
  const HeadLimits limits{settings().max_header_size.value, settings().max_header_count.value};
  co_return parse_request_head(in, limits, head).has_value();
}

}  // namespace karmad
