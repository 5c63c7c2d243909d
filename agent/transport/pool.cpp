#include "agent/transport/pool.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>

namespace karmad {

namespace {

// With the zero behind them, memory of a round size.
constexpr std::size_t kReplyRoom = (16 << 10) - 1;       // most answers come in one piece
constexpr std::size_t kMostReplyRoom = (256 << 10) - 1;  // read at once

}  // namespace

Connection::Connection(Socket socket, Pool& pool)
    : Stream(pool.loop_, std::move(socket)),
      generation(pool.agent_->generation.load(std::memory_order_relaxed)),
      pool_(pool),
      flight_(pool.agent_->vitals.connections),
      room_(kReplyRoom) {}

Connection::~Connection() {
  --pool_.local_;
}

void Connection::replied(std::size_t size) {
  room_ = std::min(size / (kReplyRoom + 1) * (kReplyRoom + 1) + kReplyRoom, kMostReplyRoom);
}

bool Connection::looks_alive() {
  char byte = 0;
  const auto n = ::recv(socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void Connection::unexpected() {
  if (in_use_) {
    // The agent answers, or closes, before it has the whole request: the rest need not be sent.
    cancel();
    return;
  }
  // Closed by the agent, or it speaks without being asked: of no use any more.
  close();
  std::erase(pool_.idle_, this);
}

/// How soon whoever waits for a connection looks again by himself.
constexpr Micros kLookAgain = 10ms;

void Pool::give(ConnectionPtr connection) {
  if (idle_.size() >= keep_ || !connection->open() || outdated(*connection))
    return connection->close();
  connection->in_use_ = false;
  if (!connection->reading()) connection->start_read(connection->room_);
  idle_.push_back(std::move(connection));
  next_waiter();
}

void Pool::clear() {
  for (auto& connection : std::exchange(idle_, {})) connection->close();
}

bool Pool::ready() {
  while (!idle_.empty() && outdated(*idle_.back())) {
    const auto connection = std::move(idle_.back());
    idle_.pop_back();
    connection->close();
  }
  return !idle_.empty();
}

ConnectionPtr Pool::idle_one() {
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  connection->in_use_ = true;
  return connection;
}

namespace {

NoConnection no_turn(Why why) {
  if (why != Why::connect_timeout) return {Outcome::cancelled, "cancelled"};
  return {Outcome::own_trouble,
          "no connection became free in time (agent_max_connections, agent_max_connecting)"};
}

}  // namespace

/// Takes the right to establish one more connection; false when the limits leave none.
bool Pool::reserve() {
  if (limits_.connecting != 0 && connecting_ >= limits_.connecting) return false;
  if (limits_.connections != 0 && local_ >= limits_.connections) return false;
  ++connecting_;
  ++local_;
  return true;
}

/// The right to establish a connection, taken by reserve().
class Pool::Opening {
 public:
  explicit Opening(Pool& pool) : pool_(pool) {}
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
  /// After a failure whoever waits looks again by himself: were he told, and failed at once as
  /// well, a long queue would be a deep recursion.
  ~Opening() {
    --pool_.connecting_;
    if (!became_connection) --pool_.local_;
    if (became_connection) pool_.next_waiter();
  }
  bool became_connection = false;

 private:
  Pool& pool_;
};

/// A place in the queue of those who wait for a connection. What is closed instead of given back is
/// noticed by looking again.
class Pool::Place final : public Deadline {
 public:
  explicit Place(Pool& pool) : pool_(pool) {
    pool_.waiting_.push_back(this);
    pool_.agent_->vitals.waiting.fetch_add(1, std::memory_order_relaxed);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    std::erase(pool_.waiting_, this);
    pool_.agent_->vitals.waiting.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Until it may be worth looking again, or a stop is requested.
  Task<void> wait(Stop& stop) {
    if (stop.requested()) co_return;
    const Stop::Guard guard(stop, this,
                            [](void* whom) { static_cast<Place*>(whom)->turn_.notify(); });
    pool_.loop_.arm(*this, Loop::now() + kLookAgain);
    co_await turn_;
    disarm();
  }
  void look() { turn_.notify(); }

 private:
  void expired() override { turn_.notify(); }

  Pool& pool_;
  Signal turn_;
};

/// Something was given back: whoever waits longest looks whether it is enough.
void Pool::next_waiter() {
  if (!waiting_.empty()) waiting_.front()->look();
}

Task<std::expected<Pool::Taken, NoConnection>> Pool::take(From from, Stop& stop) {
  using Result = std::expected<Taken, NoConnection>;
  if (from == From::idle)
    if (auto idle = take_idle()) co_return Result(Taken{std::move(idle), /*reused=*/true, {}});
  if (!waiting_.empty() || !reserve()) {
    Place place(*this);
    for (;;) {
      co_await place.wait(stop);
      if (stop.requested()) co_return Result(std::unexpected(no_turn(stop.why())));
      if (waiting_.front() != &place) continue;  // nobody overtakes
      if (from == From::idle && ready()) co_return Result(Taken{idle_one(), /*reused=*/true, {}});
      if (reserve()) break;
    }
  }
  co_return co_await connect(stop);
}

namespace {

struct Connect {
  Socket& socket;
  const Endpoint& endpoint;
  error_code error{};

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller) {
    socket.async_connect(endpoint, [this, caller](error_code e) {
      error = e;
      caller.resume();
    });
  }
  void await_resume() const noexcept {}
};

NoConnection stopped(Why why) {
  switch (why) {
    case Why::connect_timeout:
      return {Outcome::connect_timeout, "connect timed out"};
    case Why::query_timeout:
      return {Outcome::query_timeout, "query timed out"};
    case Why::deadline:
      return {Outcome::cancelled, "the query's time was over while connecting"};
    default:
      return {Outcome::cancelled, "cancelled"};
  }
}

/// Running out of descriptors or memory for sockets is our trouble, not the agent's.
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
  if (!endpoints || agent_->look_up_again(look_up_)) {
    auto found = co_await resolve(loop_, agent_->address, stop);
    if (stop.requested()) co_return Result(std::unexpected(stopped(stop.why())));
    if (found) {
      agent_->endpoints(*std::move(found));
      endpoints = agent_->endpoints();
    } else if (!endpoints) {
      co_return Result(std::unexpected(
          NoConnection{Outcome::connect_failed, found.error(), /*name_refused=*/true}));
    }
  }

  const auto began = Loop::now();
  error_code error = asio::error::host_not_found;
  for (const auto& endpoint : *endpoints) {
    if (stop.requested()) break;
    Socket socket(loop_.io.get_executor());
    socket.open(endpoint.protocol(), error);
    if (error) continue;
    socket.non_blocking(true, error);
    const bool tcp = endpoint.protocol().family() != AF_UNIX;
    if (tcp) socket.set_option(asio::ip::tcp::no_delay(true), error);
    Connect connecting{socket, endpoint};
    {
      const Stop::Guard guard(stop, &socket, [](void* whom) {
        error_code ignored;
        static_cast<Socket*>(whom)->close(ignored);
      });
      co_await connecting;
    }
    error = connecting.error;
    if (error || stop.requested()) continue;
    opening.became_connection = true;
    const auto took = std::chrono::duration_cast<Micros>(Loop::now() - began);
    ConnectionPtr connection(new Connection(std::move(socket), *this));
    connection->start_read(connection->room_);
    co_return Result(Taken{.connection = std::move(connection), .connect = took});
  }
  if (stop.requested()) co_return Result(std::unexpected(stopped(stop.why())));
  co_return Result(std::unexpected(NoConnection{
      is_ours(error) ? Outcome::own_trouble : Outcome::connect_failed, error.message()}));
}

}  // namespace karmad
