// The part of Session that applies `memory_limit`.
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>

#include "balancer/admission/memory_gate.hpp"
#include "balancer/ingress/session.hpp"

namespace karmad {

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
  worker_.counters.add(Count::requests);
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
  return memory_refusal(worker_.limits.memory, why, query.parsed.read);
}

/// Called within a reservation of this or another request, so the consequences run later, from the
/// event loop.
void Session::memory_denied(MemoryDenial why) {
  count_denial(worker_.counters, why);
  asio::post(worker_.loop.io,
             [self = boost::intrusive_ptr<Session>(this)] { self->end_for_memory(); });
}

/// Cancels what the request waits for. If a part of the answer was sent, the connection is reset,
/// so that the client does not take the part for a complete answer.
void Session::end_for_memory() {
  if (memory_ == nullptr || !memory_->denied()) return;
  switch (phase_) {
    case Phase::reading:
      return cancel();
    case Phase::answering:
      if (query_ != nullptr) query_->stop();
      return;
    case Phase::writing:
      return reset();
    case Phase::idle:
    case Phase::lingering:
      return;
  }
}

void Session::reset() {
  error_code ignored;
  socket().set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

}  // namespace karmad
