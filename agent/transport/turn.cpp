#include "agent/transport/turn.hpp"

#include <boost/asio/post.hpp>

#include "agent/transport/loop.hpp"
#include "agent/transport/stream.hpp"

namespace karmad {
namespace {

constexpr std::size_t kKeptHeads = 1 << 20;  // bytes of memory; more is given back after a burst

}  // namespace

Turn::Turn(Loop& loop) : loop_(loop) {}

Turn::~Turn() = default;

void Turn::send(Message& message) {
  message.head_at = heads_.size();
  heads_.append(message.out.head);
  messages_.push_back(&message);
  ends_later();
}

void Turn::read(Stream& stream) {
  reads_.emplace_back(&stream);
  ends_later();
}

void Turn::watch(Stream& stream) {
  watched_.emplace_back(&stream);
  if (!watch_.armed()) loop_.arm(watch_, loop_.lately());
}

/// What is posted now comes behind everything that the last wait found ready.
void Turn::ends_later() {
  if (std::exchange(ends_, true)) return;
  asio::post(loop_.io, [this] { end(); });
}

void Turn::end() {
  ends_ = false;
  if (leaving_heads_.capacity() > kKeptHeads) leaving_heads_ = {};
  leaving_heads_.clear();
  leaving_heads_.swap(heads_);
  leaving_.swap(messages_);
  beginning_.swap(reads_);  // not those that the senders ask for now
  for (auto* message : leaving_) {
    auto& head = message->out.head;
    head = std::string_view(leaving_heads_).substr(message->head_at, head.size());
    message->error = message->stream.write_now(message->out);
  }
  for (auto* message : leaving_) message->sender.resume();
  leaving_.clear();
  begin_reads(beginning_);
}

void Turn::begin_reads(Streams& streams) {
  for (auto& stream : streams) stream->begin_read();
  streams.clear();
}

void Turn::Watch::expired() {
  Streams streams;
  streams.swap(turn_.watched_);
  for (auto& stream : streams) stream->begin_watched_read();
  streams.clear();
  if (turn_.watched_.empty()) turn_.watched_.swap(streams);  // its room
}

}  // namespace karmad
