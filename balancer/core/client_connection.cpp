#include "balancer/core/client_connection.hpp"

#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "balancer/core/wrong_protocol.hpp"

namespace karmad {

ClientConnection::Watch::Watch(ClientConnection& of)
    : of_(of),
      watcher_(of.worker_.disconnect_watcher),
      socket_(of.socket().native_handle()),
      half_(of.worker_.loop),
      whole_(of.worker_.loop),
      half_guard_(half_, this, [](void* watch) { static_cast<Watch*>(watch)->half_closed(); }),
      whole_guard_(whole_, &of, [](void* connection) {
        static_cast<ClientConnection*>(connection)->on_client_left();
      }) {
  watcher_.watch(socket_, half_);
}

void ClientConnection::Watch::half_closed() {
  watcher_.forget(socket_);
  watcher_.watch(socket_, whole_, DisconnectWatcher::End::of_both);
  of_.on_half_closed();
}

ClientConnection::ClientConnection(Worker& worker, Socket socket, ClientAddress client,
                                   std::atomic<std::uint32_t>& open_count)
    : Stream(worker.loop, std::move(socket)),
      worker_(worker),
      settings_(worker.topology()),
      client_(std::move(client.text)),
      address_(client.number),
      port_(client.port),
      is_told_(client.told),
      open_count_(open_count) {
  open_count_.fetch_add(1, std::memory_order_relaxed);
  worker_.register_session(*this);
}

ClientConnection::~ClientConnection() {
  open_count_.fetch_sub(1, std::memory_order_relaxed);
  worker_.unregister_session(*this);
}

void ClientConnection::drain() {
  ending_ = true;
  if (phase_ == Phase::idle) cancel();
}

void ClientConnection::take_settings() {
  if (settings_.get() != worker_.topology_now()) settings_ = worker_.topology();
}

bool ClientConnection::has_bytes() {
  char byte = 0;
  return ::recv(socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/// Only a long wait for the next request may count from the loop's cached time: other phases must
/// not lose the time that the loop was busy.
void ClientConnection::start_phase(Phase phase, Micros longest) {
  constexpr Micros kLong = std::chrono::seconds(10);
  const bool roughly = phase == Phase::idle && longest >= kLong;
  phase_ = phase;
  due_ = (roughly ? worker_.loop.coarse_now() : Loop::now()) + longest;
  if (clock_.armed() && clock_at_ <= due_) return;
  clock_at_ = due_;
  worker_.loop.arm(clock_, due_);
}

/// Called when the clock expires: for this phase, or for an earlier one that has ended.
void ClientConnection::on_clock() {
  const auto now = Loop::now();
  if (phase_ == Phase::answering) {  // the next phase arms it again
    if (!half_closed_) return;
    if (now >= due_) return leaves_when_silent_ ? on_client_left() : ask_whether_there();
  }
  if (now >= due_ && phase_ == Phase::writing && patience_ != nullptr) {
    patience_->progress(acknowledged(), now);
    due_ = patience_->until();
  }
  if (now < due_) {
    clock_at_ = due_;
    return worker_.loop.arm(clock_, due_);
  }
  timed_out_ = true;
  if (phase_ == Phase::reading || phase_ == Phase::writing)
    worker_.counters.add(Count::slow_clients);
  phase_timed_out();
}

void ClientConnection::report_tls_failure() {
  if (tls() != nullptr && !tls()->failure().empty())
    karmad::report_tls_failure(worker_, client_, socket(), tls()->failure());
}

void ClientConnection::on_half_closed() {
  half_closed_ = true;
  const auto wait = settings().half_close_wait.value;
  if (is_endless_ || wait == Micros(0)) return on_client_left();
  leaves_when_silent_ = is_open_ended_;
  if (phase_ == Phase::answering) start_phase(Phase::answering, wait);
}

void ClientConnection::on_client_left() {
  client_closed_ = true;
  if (query_ == nullptr || query_->client.left || timed_out_) return;
  if (!is_endless_) worker_.counters.add(Count::clients_left);
  query_->client.left = true;
  query_->stop();
}

void ClientConnection::end_soon_for_memory() {
  asio::post(worker_.loop.io,
             [self = boost::intrusive_ptr<ClientConnection>(this)] { self->end_for_memory(); });
}

Task<bool> ClientConnection::send_slowly(Outgoing out, const MemoryHolder* memory) {
  auto error = error_code(asio::error::would_block);
  ReaderPatience patience(settings().network_timeout.value, acknowledged(), Loop::now());
  patience_ = &patience;
  struct Scope {
    ReaderPatience*& place;
    ~Scope() { place = nullptr; }
  };
  const Scope scope{patience_};
  while (error == asio::error::would_block) {
    if (memory != nullptr && memory->denied()) {
      break_off();
      co_return false;
    }
    const Outgoing piece{out.head, out.body.substr(0, kPerTimeout)};
    start_phase(Phase::writing, std::chrono::duration_cast<Micros>(patience.until() - Loop::now()));
    error = co_await write(piece);
    if (error) break;
    out.consume(piece.head.size() + piece.body.size());
    if (worker_.loop.turn.over()) {
      co_await worker_.loop.turn.next();
      if (!open()) break;
    }
    error = write_now(out);
  }
  co_return !error && open();
}

}  // namespace karmad
