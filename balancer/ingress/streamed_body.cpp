#include <algorithm>
#include <utility>

#include "agent/transport/http/http_write.hpp"
#include "balancer/ingress/session.hpp"

namespace karmad {

Session::StreamedBody::StreamedBody(Session& session, std::string& in, const RequestHead& head)
    : session_(session),
      head_(head),
      in_chunks_(head.framing == Framing::chunked),
      chunks_(session.settings().max_packet_size.value),
      left_(in_chunks_ ? 0 : head.content_length),
      arrived_(in, head.size),
      time_left_(session.settings().network_timeout.value),
      received_any_(!arrived_.empty()) {
  size_ = arrived_.size();
  in.resize(head.size);
}

std::optional<std::uint64_t> Session::StreamedBody::length() const {
  if (in_chunks_) return std::nullopt;
  return head_.content_length;
}

/// Moves what has arrived to the end of `into`, without its framing. False: it is malformed.
bool Session::StreamedBody::decode(std::string& into) {
  if (in_chunks_) {
    const auto used = chunks_.put(arrived_, into);
    if (!used) {
      error_ = used.error();
      return false;
    }
    arrived_.erase(0, *used);
    ended_ = chunks_.done();
    return true;
  }
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, arrived_.size()));
  into.append(arrived_, 0, size);
  arrived_.erase(0, size);
  left_ -= size;
  ended_ = left_ == 0;
  return true;
}

Task<bool> Session::StreamedBody::keep_beginning(std::size_t most) {
  if (!in_chunks_) {
    session_.memory_->body.charge(session_.memory_, 2 * kPiece);
    co_return true;
  }
  constexpr std::size_t kFraming = 32;  // of one chunk
  for (;;) {
    const auto needed = kept_.size() + arrived_.size() + kFraming;
    const bool has_room = co_await session_.make_room(
        kept_, next_room(kept_.capacity(), needed, most + kPiece + kFraming));
    if (!has_room || !decode(kept_)) co_return false;
    if (ended_) co_return true;
    if (kept_.size() > most) break;
    const bool came = co_await receive();
    if (!came) co_return false;
  }
  make_chunk(kept_);
  co_return true;
}

Task<bool> Session::StreamedBody::next(std::string& piece) {
  if (!std::exchange(begun_, true)) session_.worker_.counters.add(Count::requests_streamed);
  piece.clear();
  if (!kept_.empty()) {
    piece.swap(kept_);
    kept_.clear();
    co_return true;
  }
  if (piece.capacity() > 3 * kPiece) std::string().swap(piece);  // the beginning was sent
  while (piece.empty() && !ended_) {
    bool came = decode(piece);
    if (came && piece.empty() && !ended_) came = co_await receive();
    if (came) continue;
    if (error_) session_.query_->stop();
    co_return false;
  }
  if (!in_chunks_) co_return true;
  make_chunk(piece);
  if (ended_ && !std::exchange(told_end_, true)) piece += kLastChunk;
  co_return true;
}

/// Waits for bytes of the client, whose time does not run while the agent is waited for. False:
/// none come.
Task<bool> Session::StreamedBody::receive() {
  if (head_.expect_continue && !std::exchange(received_any_, true)) {
    const bool asked = co_await session_.send_now({"HTTP/1.1 100 Continue\r\n\r\n", {}});
    if (!asked) co_return false;
  }
  auto& turn = session_.worker_.loop.turn;
  if (turn.over()) co_await turn.next();
  if (cancelled_ || !session_.open()) co_return false;
  const auto began = Loop::now();
  session_.start_phase(Phase::reading, time_left_);
  waits_ = true;
  const bool came = co_await read();
  waits_ = false;
  session_.phase_ = Phase::answering;
  if (came) {
    count(std::chrono::duration_cast<Micros>(Loop::now() - began));
  } else if (session_.timed_out_) {
    error_ = HeadError{408, "the body of the request did not come in time"};
  } else if (!cancelled_ && !session_.memory_->denied()) {
    session_.on_client_left();
  }
  co_return came;
}

/// Takes the next bytes into `arrived_`, which is empty.
Task<bool> Session::StreamedBody::read() {
  if (session_.unread_ || session_.reading()) {
    const bool came = co_await session_.read_more(arrived_);
    co_return came;
  }
  resize_for_reading(arrived_, kPiece);
  auto got = session_.read_now(arrived_.data(), kPiece);
  if (got.error == asio::error::would_block) {
    session_.start_read(arrived_.data(), kPiece);
    got = co_await session_.read();
  }
  arrived_.resize(got.size);
  co_return !got.error && !session_.timed_out_;
}

/// Counts bytes that have come, and the client's time for each 64 KB.
void Session::StreamedBody::count(Micros took) {
  size_ += arrived_.size();
  since_ += arrived_.size();
  time_left_ -= std::min(time_left_, took);
  if (since_ < kPerTimeout) return;
  since_ = 0;
  time_left_ = session_.settings().network_timeout.value;
}

void Session::StreamedBody::cancel() {
  cancelled_ = true;
  if (waits_) session_.cancel();
}

}  // namespace karmad
