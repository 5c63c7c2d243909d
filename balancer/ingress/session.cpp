#include "balancer/ingress/session.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <algorithm>
#include <boost/asio/ip/tcp.hpp>

#include "agent/json/equals_literal.hpp"
#include "agent/transport/http/http_write.hpp"
#include "balancer/trace/trace_json.hpp"

namespace karmad {
namespace {

/// An empty line behind a request is not the beginning of another one (RFC 9112 section 2.2); those
/// before a request are the parser's.
void skip_empty_line(std::string& in) {
  if (equals_literal(in, "\r\n")) in.clear();
}

/// Bytes of a request before the next one.
std::size_t size_of(const RequestHead& head) {
  return head.framing == Framing::length ? head.size + static_cast<std::size_t>(head.content_length)
                                         : head.size;
}

/// A head of the worker's, for the time of a request.
struct HeadLease {
  explicit HeadLease(Worker& of) : worker(of) {}
  HeadLease(const HeadLease&) = delete;
  HeadLease& operator=(const HeadLease&) = delete;
  ~HeadLease() { worker.give_head(std::move(head)); }

  Worker& worker;
  std::unique_ptr<RequestHead> head = worker.take_head();
};

}  // namespace

/// Notices the client's end while bytes of it lie unread: no read is outstanding then.
struct Session::DepartureWatch {
  explicit DepartureWatch(Session& session)
      : disconnect_watcher(session.worker_.disconnect_watcher),
        socket(session.socket().native_handle()),
        stop(session.worker_.loop),
        guard(stop, &session, [](void* target) { static_cast<Session*>(target)->client_gone(); }) {
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

/// While the answer is made the next read is outstanding: it tells when the client leaves.
/// `more_here`: a further request has come.
void Session::prepare_answer(bool more_here) {
  if (!more_here && !unread_ && !reading()) start_read();
  phase_ = Phase::answering;
  take_settings();
}

/// Makes it the query that the client waits for.
void Session::begin(Query& query) {
  query.memory = memory_;
  query.admissions = &low_admissions_;
  worker_.counters.add(Count::bytes_in, query.bytes_in);
  query_ = &query;
  if (!reading()) watch_departure();
  open_trace(query);
}

/// The query has its answer, which may become another one.
void Session::conclude(Query& query, Answer& answer) {
  query_ = nullptr;
  if (memory_->denied() && !query.client_left) answer = given_up(query);
  close_trace(query, answer);
  if (!answer.reply || has_no_body(answer.status)) answer.rest.reset();
}

/// The answer was sent.
void Session::recycle(Answer& answer) {
  within_answer_ = false;
  worker_.loop.buffers.give(std::move(answer.body));
  if (answer.reply) worker_.loop.buffers.give(std::move(answer.reply->bytes));
}

/// Takes a request of `size` bytes, which has its answer, out of `in`.
void Session::forget_request(std::string& in, std::size_t size) {
  watch_.reset();
  memory_->release();
  in.erase(0, size);
  if (!in.empty()) memory_->body.charge(memory_, in.capacity());
}

/// Answers everything that has arrived. False: the connection is over.
Task<bool> Session::serve() {
  const HeadLease lease(worker_);
  auto& head = *lease.head;
  Memory memory(*this);
  Buffer in(worker_.loop.buffers, std::move(arrived()));
  unread_ = false;
  used_ = true;
  for (skip_empty_line(*in); !in->empty(); skip_empty_line(*in)) {
    std::string chunks;
    std::string_view body;
    const auto came = look_at(*in, head, body);
    const bool whole = came == Arrived::whole;
    if (!whole) allow(Phase::reading, settings().network_timeout.value);
    if (came == Arrived::part_of_head) {
      const bool complete = co_await read_head(*in, head);
      if (!complete) co_return false;
    }
    note_head();
    auto refused = refuse_on_head({worker_, *settings_, head, address_, memory, whole});
    if (refused && refused->ends_connection) {
      in.give_back();
      memory.release();
      co_return co_await end_with(refused->answer);
    }
    if (!whole) {
      const bool complete = co_await read_body(*in, head, chunks, body);
      if (!complete) co_return false;
    }
    worker_.counters.add(Count::requests);
    const auto size = size_of(head);
    bool goes_on = false;
    if (refused) {
      phase_ = Phase::answering;
      goes_on = stays(&head);
      const bool sent = co_await send_answer(refused->answer, &head);
      if (!sent) co_return false;
    } else {
      prepare_answer(in->size() > size);
      Query query(worker_, *settings_, head, body, client_);
      begin(query);
      auto asked = pass_pipeline(query);
      auto& answer = co_await asked;
      conclude(query, answer);
      RestLog log(query, answer);
      if (query.client_left || !open()) co_return false;
      goes_on = stays(&head);
      auto outgoing = write_answer(answer, &head);
      within_answer_ = true;
      const auto error = co_await send(outgoing);
      bool sent = !error;
      if (error == asio::error::would_block) sent = co_await send_rest(outgoing);
      if (sent && answer.rest) sent = co_await pass_rest(query, answer, log);
      if (!sent) co_return false;
      recycle(answer);
    }
    forget_request(*in, size);
    if (!goes_on || ending_ || !open()) co_return false;
  }
  co_return true;
}

}  // namespace karmad
