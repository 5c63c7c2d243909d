#include "agent/transport/loop/loop_turn.hpp"

#include <boost/asio/post.hpp>

namespace karmad {
namespace {

constexpr std::size_t kKeptHeads = 1 << 20;  // bytes; more is freed after a burst
constexpr Micros kLook{20'000};              // pause between two looks at the watched streams

}  // namespace

LoopTurn::~LoopTurn() {
  while (!watched_.empty()) forget(*watched_.back());
}

void LoopTurn::send(Message& message) {
  message.head_at = heads_.size();
  heads_.append(message.out.head);
  messages_.push_back(&message);
  ends_later();
}

void LoopTurn::watch(TurnPeer& stream) {
  stream.fresh_ = true;
  if (stream.watched_ != kNowhere) return;
  stream.watched_ = watched_.size();
  watched_.push_back(&stream);
  if (!watch_.armed()) ticks_.arm(watch_, ticks_.coarse_now() + kLook);
}

void LoopTurn::forget(TurnPeer& stream) noexcept {
  const auto place = std::exchange(stream.watched_, kNowhere);
  if (place == kNowhere) return;
  auto* const last = watched_.back();
  watched_.pop_back();
  if (last == &stream) return;
  watched_[place] = last;
  last->watched_ = place;
}

/// Posts the end of the turn, so that it runs after everything that the last wait found ready.
void LoopTurn::ends_later() {
  if (std::exchange(ends_, true)) return;
  boost::asio::post(io_, [this] { end(); });
}

void LoopTurn::end() {
  ends_ = false;
  if (leaving_heads_.capacity() > kKeptHeads) leaving_heads_ = {};
  leaving_heads_.clear();
  leaving_heads_.swap(heads_);
  leaving_.swap(messages_);
  for (auto* message : leaving_) {
    auto& head = message->out.head;
    head = std::string_view(leaving_heads_).substr(message->head_at, head.size());
    message->error = message->stream.write_now(message->out);
  }
  for (auto* message : leaving_) message->sender.resume();
  leaving_.clear();
}

void LoopTurn::put_off(std::coroutine_handle<> caller) {
  put_off_.push_back(caller);
  if (std::exchange(continues_, true)) return;
  boost::asio::post(io_, [this] { continue_put_off(); });
}

/// Coroutines postponed again while this runs wait for the next turn, behind the others.
void LoopTurn::continue_put_off() {
  continues_ = false;
  spent_ = 0;
  for (auto left = put_off_.size(); left > 0 && !over(); --left) {
    const auto next = put_off_.front();
    put_off_.pop_front();
    next.resume();
  }
  if (put_off_.empty() || std::exchange(continues_, true)) return;
  // Behind what the loop finds ready after this: that is queued before the second of them.
  boost::asio::post(io_, [this] { boost::asio::post(io_, [this] { continue_put_off(); }); });
}

void LoopTurn::Watch::expired() {
  auto& watched = turn_.watched_;
  for (std::size_t i = watched.size(); i-- > 0;) {
    auto& stream = *watched[i];
    if (std::exchange(stream.fresh_, false) || !stream.reads()) continue;
    turn_.forget(stream);
    stream.poll();
  }
  if (!watched.empty()) turn_.ticks_.arm(*this, turn_.ticks_.coarse_now() + kLook);
}

void Outgoing::consume(std::size_t sent) {
  const auto of_head = std::min(sent, head.size());
  head.remove_prefix(of_head);
  body.remove_prefix(sent - of_head);
}

}  // namespace karmad
