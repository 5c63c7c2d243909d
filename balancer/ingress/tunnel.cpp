#include "balancer/ingress/tunnel.hpp"

#include <utility>

namespace karmad {
namespace {

/// Waits for bytes: `arrived()` has them.
Task<error_code> receive(Stream& from) {
  if (!from.arrived().empty()) co_return error_code();  // they came while nothing was awaited
  if (!from.open()) co_return asio::error::operation_aborted;
  if (!from.reading()) from.start_read(Tunnel::kPiece);
  const auto got = co_await from.read();
  co_return got.error;
}

}  // namespace

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

}  // namespace karmad
