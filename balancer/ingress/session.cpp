#include "balancer/ingress/session.hpp"
#include "balancer/endpoints/endpoints.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <algorithm>
#include <boost/asio/ip/tcp.hpp>

#include "agent/json/equals_literal.hpp"
#include "agent/transport/http/http_write.hpp"
#include "balancer/admission/memory_gate.hpp"
#include "balancer/pipeline/pipeline.hpp"
#include "balancer/pipeline/ticket_gate.hpp"
#include "balancer/trace/trace_json.hpp"

namespace karmad {
namespace {

/// An empty line behind a request is not the beginning of another one (RFC 9112 section 2.2); those
/// before a request are the parser's.
void skip_empty_line(std::string& in) {
  if (equals_literal(in, "\r\n")) in.clear();
}

}  // namespace

/// Notices the client's end while bytes of it lie unread: no read is outstanding then.
struct Session::DepartureWatch {
  explicit DepartureWatch(Session& session)
      : disconnect_watcher(session.worker_.disconnect_watcher),
        socket(session.socket().native_handle()),
        stop(session.worker_.loop),
        guard(stop, &session, [](void* whom) { static_cast<Session*>(whom)->client_gone(); }) {
    disconnect_watcher.watch(socket, stop);
  }
  DepartureWatch(const DepartureWatch&) = delete;
  DepartureWatch& operator=(const DepartureWatch&) = delete;
  ~DepartureWatch() { disconnect_watcher.forget(socket); }

  DisconnectWatcher& disconnect_watcher;
  const int socket;
  Stop stop;
  Stop::Guard guard;
};

Session::Session(Worker& worker, Socket socket, std::string client,
                 std::optional<IpAddress> address)
    : Stream(worker.loop, std::move(socket)),
      worker_(worker),
      settings_(worker.topology()),
      client_(std::move(client)),
      address_(address) {
  worker_.process.connections.fetch_add(1, std::memory_order_relaxed);
  worker_.register_session(*this);
}

Session::~Session() {
  worker_.process.connections.fetch_sub(1, std::memory_order_relaxed);
  worker_.unregister_session(*this);
}

void Session::start() {
  run(this);
}

void Session::drain() {
  ending_ = true;
  if (phase_ == Phase::idle) cancel();
}

void Session::end() {
  watch_.reset();
  if (within_answer_) return reset();
  close();
}

void Session::abandon() {
  ending_ = true;
  end();
  if (query_ == nullptr) return;
  query_->client_left = true;
  query_->stop();
}

/// A read ended while a query runs.
void Session::unexpected() {
  if (!last().error) {
    unread_ = true;  // the next request; it waits its turn
    if (query_ != nullptr) watch_departure();
    return;
  }
  client_gone();
}

void Session::watch_departure() {
  if (!watch_) watch_ = std::make_unique<DepartureWatch>(*this);
}

/// Whether something can be read.
bool Session::has_bytes() {
  char byte = 0;
  return ::recv(socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/// The watch goes first: a descriptor that is closed may be another socket's at once.
/// Ends the query that the client no longer waits for.
void Session::client_gone() {
  departed_ = true;
  if (query_ == nullptr || query_->client_left || timed_out_) return;
  worker_.counters.add(Count::clients_left);
  query_->client_left = true;
  query_->stop();
}

/// The clock rang: for this phase, or for one that ended before its time.
void Session::check_time() {
  if (phase_ == Phase::answering) return;  // armed again with the next phase
  if (Loop::now() >= due_) return too_slow();
  checked_ = due_;
  worker_.loop.arm(clock_, due_);
}

void Session::too_slow() {
  timed_out_ = true;
  if (phase_ != Phase::idle && phase_ != Phase::lingering)
    worker_.counters.add(Count::slow_clients);
  if (phase_ == Phase::reading) {
    cancel();  // it is told why
  } else {
    end();
  }
}

/// Begins a phase that may take `longest`. The clock stays armed where it rings early enough: most
/// phases end long before their time. Only a long wait for the next request may count from a little
/// earlier: whatever held the loop before must not take from the client's time.
void Session::allow(Phase phase, Micros longest) {
  constexpr Micros kLong = 10s;
  const bool roughly = phase == Phase::idle && longest >= kLong;
  phase_ = phase;
  due_ = (roughly ? worker_.loop.lately() : Loop::now()) + longest;
  if (clock_.armed() && checked_ <= due_) return;
  checked_ = due_;
  worker_.loop.arm(clock_, due_);
}

/// The whole life of a session. Its frame is all that an idle one has besides itself.
Background Session::run(boost::intrusive_ptr<Session> self) {
  for (bool stays = true; stays && self->open() && !self->ending_;) {
    self->await_request();
    auto got = co_await self->read();
    if (got.error == asio::error::operation_aborted && self->has_bytes()) {  // since drain()
      self->start_read();
      got = co_await self->read();
    }
    if (got.error) break;
    self->unread_ = true;
    stays = co_await self->serve();
  }
  const bool lingers = self->worker_.draining() && self->open() && !self->within_answer_;
  if (lingers) co_await self->linger();
  self->end();
}

/// Those of now. A query goes by them to its end.
void Session::take_settings() {
  if (settings_.get() != worker_.topology_now()) settings_ = worker_.topology();
}

void Session::await_request() {
  take_settings();
  allow(Phase::idle, used_ ? settings().client_timeout.value : settings().network_timeout.value);
  if (!unread_ && !reading()) start_read();
}

/// Answers everything that has arrived. False: the connection is over.
Task<bool> Session::serve() {
  struct Lease {
    Worker& worker;
    std::unique_ptr<RequestHead> head = worker.take_head();
    ~Lease() { worker.give_head(std::move(head)); }
  } lease{worker_};
  auto& head = *lease.head;
  Memory memory(*this);
  Buffer in(worker_.loop.buffers, std::move(arrived()));
  unread_ = false;
  used_ = true;
  for (skip_empty_line(*in); !in->empty(); skip_empty_line(*in)) {
    std::string chunks;
    std::string_view body;
    std::optional<Answer> refused;
    if (here(*in, head, body)) {
      count_head(head);
      if (!over_rate_) refused = refused_at_once(worker_, head);
    } else {
      allow(Phase::reading, settings().network_timeout.value);
      const bool whole = co_await read_request(*in, head, chunks, body);
      if (!whole) co_return false;
    }
    const auto size = head.framing == Framing::length
                          ? head.size + static_cast<std::size_t>(head.content_length)
                          : head.size;
    worker_.counters.add(Count::requests);
    if (over_rate_) refused = too_many_requests(worker_, *over_rate_);
    if (refused) {
      const bool goes_on = stays(&head);
      phase_ = Phase::answering;
      const bool sent = co_await send_answer(std::move(*refused), &head);
      in->erase(0, size);
      if (!sent || !goes_on || ending_ || !open()) co_return false;
      continue;
    }
    // While the answer is made the next read is outstanding: it tells when the client leaves.
    if (in->size() == size && !unread_ && !reading()) start_read();
    const bool more_waits = !reading();
    phase_ = Phase::answering;
    bool goes_on = false;
    {
      take_settings();
      Query query(worker_, *settings_, head, body, client_);
      query.memory = &memory;
      worker_.counters.add(Count::bytes_in, query.bytes_in);
      query.admissions = &low_admissions_;
      query_ = &query;
      if (more_waits) watch_departure();
      open_trace(query);
      auto asked = pass_pipeline(query);
      auto& answer = co_await asked;
      query_ = nullptr;
      if (memory.denied() && !query.client_left) answer = given_up(query);
      close_trace(query, answer);
      if (!answer.reply || has_no_body(answer.status)) answer.rest.reset();
      RestLog log(query, answer);
      if (query.client_left || !open()) co_return false;
      goes_on = stays(&head);
      auto outgoing = write_answer(answer, &head);
      within_answer_ = true;
      const auto error = co_await send(outgoing);
      if (error == asio::error::would_block) {
        const bool sent = co_await send_rest(outgoing);
        if (!sent) co_return false;
      } else if (error) {
        co_return false;
      }
      if (answer.rest) {
        const bool whole = co_await pass_rest(query, answer, log);
        if (!whole) co_return false;
      }
      within_answer_ = false;
      worker_.loop.buffers.give(std::move(answer.body));
      if (answer.reply) worker_.loop.buffers.give(std::move(answer.reply->bytes));
    }
    watch_.reset();
    memory.piece.release();
    memory.body.release();
    memory.forgive();
    in->erase(0, size);
    if (!in->empty()) memory.body.charge(&memory, in->capacity());
    if (!goes_on || ending_ || !open()) co_return false;
  }
  co_return true;
}

}  // namespace karmad
