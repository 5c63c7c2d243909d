// What `memory_limit` means for a session.
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>

#include "balancer/admission/memory_gate.hpp"
#include "balancer/ingress/session.hpp"

namespace karmad {

/// Room for so many bytes of a request's body. False: it was denied.
Task<bool> Session::make_room(std::string& bytes, std::size_t room) {
  if (room <= bytes.capacity()) co_return true;
  const bool granted = co_await reserve(worker_.loop, memory_->body, memory_, room);
  if (!granted) co_return false;
  co_await grow(worker_.loop, bytes, room);
  memory_->body.charge(memory_, bytes.capacity());
  co_return true;
}

/// Frees what came of a body, says why, and ends the connection.
Task<bool> Session::refuse_for_memory(std::string& bytes) {
  worker_.counters.add(Count::requests);
  worker_.loop.buffers.give(std::exchange(bytes, {}));
  memory_->body.release();
  const auto why = memory_->denial();
  memory_->forgive();
  const bool stays =
      co_await end_with(memory_refusal(worker_.process.memory, why, /*repeatable=*/true));
  co_return stays;
}

/// What a query is answered that was denied memory, instead of what it has come to.
Answer Session::given_up(const Query& query) {
  const auto why = memory_->denial();
  memory_->forgive();
  worker_.counters.add(Count::queries_failed);
  return memory_refusal(worker_.process.memory, why, query.parsed.read);
}

/// Another request, or this one, asks for memory just now: what follows has a turn of its own.
void Session::memory_denied(MemoryDenial why) {
  count_denial(worker_.counters, why);
  asio::post(worker_.loop.io,
             [self = boost::intrusive_ptr<Session>(this)] { self->end_for_memory(); });
}

/// Ends what the request waits for. An answer that has begun is reset, not ended: the client must
/// not take a part for the whole.
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
