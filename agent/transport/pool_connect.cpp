#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "agent/transport/keep_alive.hpp"
#include "agent/transport/pool.hpp"

// How a pool opens a connection.

namespace karmad {

/// The right to open a connection, taken by try_open().
class Pool::Opening {
 public:
  explicit Opening(Pool& pool) : pool_(pool) {
    ++pool_.connecting_;
    ++pool_.local_;
  }
  Opening& operator=(Opening&&) = delete;
  ~Opening() {
    --pool_.connecting_;
    if (became_connection) {
      pool_.established();
      pool_.next_waiter();
    } else {
      --pool_.local_;
      pool_.not_opened();
      pool_.serve_soon();
      if (!failure_) return;
      pool_.refuse_waiting(*failure_, until_);
      pool_.refuse_other_workers(*failure_, until_);
    }
  }
  bool became_connection = false;

  /// Sets the error; all requests that wait now get the same one.
  NoConnection failed(NoConnection why) {
    pool_.agent_->connect_failed();
    return failure_.emplace(std::move(why));
  }
  /// A stop was requested. Waiting requests with no more time left than this one used get the same
  /// result.
  NoConnection stopped(StopReason why) {
    const auto now = Loop::now();
    until_ = now + (now - began_);
    if (why == StopReason::connect_timeout)
      return failed({Outcome::connect_timeout, "connect timed out"});
    if (why == StopReason::query_timeout) return {Outcome::query_timeout, "query timed out"};
    if (why == StopReason::unreachable) return {Outcome::unreachable, kUnreachable};
    if (why == StopReason::deadline)
      return {Outcome::cancelled, "the query's deadline had passed while connecting"};
    return {Outcome::cancelled, "cancelled"};
  }

 private:
  Pool& pool_;
  const TimePoint began_ = Loop::now();
  std::optional<NoConnection> failure_;
  TimePoint until_ = TimePoint::max();
};

namespace {

struct Connect : std::suspend_always {
  Socket& socket;
  const Endpoint& endpoint;
  error_code error{};

  void await_suspend(std::coroutine_handle<> caller) {
    socket.async_connect(endpoint, [this, caller](error_code e) {
      error = e;
      caller.resume();
    });
  }
};

/// Closes the socket at a stop request.
Stop::Guard closing(Stop& stop, Socket& socket) {
  return {stop, &socket, [](void* target) {
            error_code ignored;
            static_cast<Socket*>(target)->close(ignored);
          }};
}

/// Lack of descriptors, local ports or socket memory is an error of this process, not of the agent.
bool is_ours(const error_code& error) {
  using boost::system::errc::errc_t;
  return error == errc_t::too_many_files_open || error == errc_t::too_many_files_open_in_system ||
         error == errc_t::no_buffer_space || error == errc_t::not_enough_memory ||
         error == errc_t::address_not_available;
}

}  // namespace

Task<std::expected<Pool::Taken, NoConnection>> Pool::connect(Stop& stop) {
  using Result = std::expected<Taken, NoConnection>;
  Opening opening(*this);

  auto endpoints = agent_->endpoints();
  if (!endpoints)
    if (auto why = agent_->unresolved())
      co_return Result(std::unexpected(
          NoConnection{Outcome::connect_failed, *std::move(why), /*name_refused=*/true}));
  if (!endpoints || (agent_->named() && look_up_ == LookUp::on_request)) {
    auto found = co_await resolve(loop_, agent_->address, stop, agent_->dns);
    if (stop.requested()) co_return Result(std::unexpected(opening.stopped(stop.why())));
    if (found) {
      agent_->endpoints(*std::move(found));
      endpoints = agent_->endpoints();
    } else if (!endpoints) {
      co_return Result(std::unexpected(
          opening.failed({Outcome::connect_failed, found.error(), /*name_refused=*/true})));
    }
  }

  const auto began = Loop::now();
  error_code error = asio::error::host_not_found;
  std::string tls_failure;          // at the last address
  bool ours = !endpoints->empty();  // no address was tried in vain for another reason
  for (const auto& endpoint : *endpoints) {
    if (stop.requested()) break;
    Socket socket(loop_.io.get_executor());
    socket.open(endpoint.protocol(), error);
    if (error) {
      ours = ours && is_ours(error);
      continue;
    }
    socket.non_blocking(true, error);
    const bool tcp = endpoint.protocol().family() != AF_UNIX;
    if (tcp) {
      socket.set_option(asio::ip::tcp::no_delay(true), error);
      keep_alive(socket.native_handle());
    }
    Connect connecting{{}, socket, endpoint};
    {
      const auto guard = closing(stop, socket);
      co_await connecting;
    }
    error = connecting.error;
    ours = ours && is_ours(error);
    if (error || stop.requested()) continue;
    tls_failure.clear();
    std::unique_ptr<Tls> tls;
    // Before the rules are read: a connection by older ones belongs to an older generation.
    const auto generation = agent_->generation.load(std::memory_order_acquire);
    if (const auto client = agent_->tls()) {
      tls = client->connect(socket.native_handle());
      const auto guard = closing(stop, socket);
      error = co_await Stream::shake_hands(loop_.turn, socket, *tls);
      if (!error || tls->is_untrusted())
        agent_->untrusted.store(tls->is_untrusted(), std::memory_order_relaxed);
    }
    if (stop.requested()) break;
    if (error) {
      tls_failure = tls->failure();
      continue;
    }
    opening.became_connection = true;
    const auto took = std::chrono::duration_cast<Micros>(Loop::now() - began);
    ConnectionPtr connection(new Connection(std::move(socket), endpoint, *this, generation));
    if (tls) connection->encrypt(std::move(tls));
    connection->start_read(connection->room_);
    co_return Result(Taken{.connection = std::move(connection), .connect = took});
  }
  if (stop.requested()) co_return Result(std::unexpected(opening.stopped(stop.why())));
  if (ours) co_return Result(std::unexpected(NoConnection{Outcome::local_error, error.message()}));
  co_return Result(std::unexpected(opening.failed(
      {Outcome::connect_failed, tls_failure.empty() ? error.message() : "TLS: " + tls_failure})));
}

Task<bool> refuses_connections(Loop& loop, const Destination& agent, Stop& stop) {
  const auto endpoints = agent.endpoints();
  if (!endpoints || endpoints->empty()) co_return false;
  for (const auto& endpoint : *endpoints) {
    Socket socket(loop.io.get_executor());
    error_code error;
    socket.open(endpoint.protocol(), error);
    if (error) co_return false;
    socket.non_blocking(true, error);
    Connect connecting{{}, socket, endpoint};
    {
      const auto guard = closing(stop, socket);
      co_await connecting;
    }
    if (stop.requested() || !connecting.error || is_ours(connecting.error)) co_return false;
  }
  co_return true;
}

}  // namespace karmad
