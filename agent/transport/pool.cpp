#include "agent/transport/pool.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <limits>

namespace karmad {

namespace {

// With the terminating zero a round size.
constexpr std::size_t kReplyRoom = (16 << 10) - 1;       // most answers fit in one read
constexpr std::size_t kMostReplyRoom = (256 << 10) - 1;  // limit of one read
constexpr Micros kDistrust = 10min;                      // after unrequested bytes
constexpr auto kNoVersion = std::numeric_limits<std::uint64_t>::max();  // not looked for yet

}  // namespace

Connection::Connection(Socket socket, const Endpoint& peer, Pool& pool, std::uint64_t of)
    : Stream(pool.loop_, std::move(socket)),
      generation(of),
      peer_(peer),
      version_(kNoVersion),
      pool_(pool),
      flight_(pool.agent_->counts.open),
      room_(kReplyRoom) {
  expect_silence();
}

Connection::~Connection() {
  --pool_.local_;
  keep_no_more();
  pool_.closed();
  pool_.serve_soon();
}

void Connection::replied(std::size_t size) {
  room_ = std::min(size / (kReplyRoom + 1) * (kReplyRoom + 1) + kReplyRoom, kMostReplyRoom);
}

void Connection::keep_no_more() {
  if (std::exchange(kept_, false)) pool_.kept_no_more();
}

void Connection::unexpected() {
  if (in_use_) {
    // The agent answered or closed before it got the whole request: the rest need not be sent.
    cancel();
    return;
  }
  // Closed by the agent, or it sent unrequested bytes: not reusable.
  if (last().size > 0) {
    pool_.agent_->sent_unasked(pool_.loop_.index, Loop::now());
    pool_.unasked();
  }
  close();
  std::erase(pool_.idle_, this);
  std::erase_if(pool_.watched_, [this](const auto& other) { return other.connection == this; });
}

void Pool::unasked() {
  loop_.unasked.add(1);
  const auto until = Loop::now() + kDistrust;
  agent_->counts.quiet.store(0, std::memory_order_relaxed);
  agent_->counts.distrusted_until.store(until.time_since_epoch().count(),
                                        std::memory_order_relaxed);
}

bool Pool::has_unsolicited_bytes() const {
  const auto until = agent_->counts.distrusted_until.load(std::memory_order_relaxed);
  return until != 0 && loop_.coarse_now().time_since_epoch().count() < until;
}

bool Pool::is_current(const Connection& connection) const {
  const auto version = agent_->version();
  const auto addresses = agent_->endpoints();
  if (!addresses || std::ranges::find(*addresses, connection.peer_) == addresses->end())
    return false;
  connection.version_ = version;
  return true;
}

void Pool::close_outdated() {
  // A closed connection may be destroyed, which calls the pool.
  std::vector<ConnectionPtr> gone;
  const auto goes = [&](const ConnectionPtr& connection) {
    if (!outdated(*connection)) return false;
    gone.push_back(connection);
    return true;
  };
  std::erase_if(idle_, goes);
  std::erase_if(watched_, [&](const auto& watched) { return goes(watched.connection); });
  for (const auto& connection : gone) connection->close();
}

void Pool::give(ConnectionPtr connection) {
  if (!keeps_ || !connection->open() || !usable(*connection) || yields(waiting_.empty()))
    return connection->close();
  if (!connection->kept_ && !(connection->kept_ = try_keep())) return connection->close();
  connection->in_use_ = false;
  connection->expect_silence();
  if (!connection->reading()) connection->start_read(connection->room_);
  // If that read found something at once, unexpected() is called.
  if (!usable(*connection)) return connection->close();
  if (to_be_watched()) return watch(std::move(connection));
  idle_.push_back(std::move(connection));
  next_waiter();
}

bool Pool::to_be_watched() const {
  const auto quiet = agent_->counts.quiet.load(std::memory_order_relaxed);
  if (quiet >= kQuietAnswers) return false;
  return quiet < kFirstAnswers || !waiting_.empty() || in_use() > 1;
}

void Pool::watch(ConnectionPtr connection) {
  watched_.push_back({std::move(connection), Loop::now() + kWatched});
  set_watch_timer();
}

void Pool::set_watch_timer() {
  if (watched_.empty() || std::exchange(timing_, true)) return;
  watch_ends_.expires_after(watched_.front().until - Loop::now());
  watch_ends_.async_wait([this](error_code) {
    timing_ = false;
    end_watches();
  });
}

/// Moves connections whose watch has ended to the idle ones.
void Pool::end_watches() {
  const auto now = Loop::now();
  while (!watched_.empty() && watched_.front().until <= now) {
    idle_.push_back(std::move(watched_.front().connection));
    watched_.pop_front();
    agent_->counts.quiet.fetch_add(1, std::memory_order_relaxed);
    next_waiter();
  }
  set_watch_timer();
}

void Pool::clear() {
  for (auto& [connection, until] : std::exchange(watched_, {})) connection->close();
  watch_ends_.cancel();
  for (auto& connection : std::exchange(idle_, {})) connection->close();
}

bool Pool::ready() {
  while (!idle_.empty() && !usable(*idle_.back())) {
    const auto connection = std::move(idle_.back());
    idle_.pop_back();
    connection->close();
  }
  return !idle_.empty();
}

/// Closes the connection that has been idle longest.
void Pool::make_room() {
  if (!waiting_.empty()) return;
  if (idle_.empty() && !watched_.empty()) {
    const auto watched = std::move(watched_.front().connection);
    watched_.pop_front();
    return watched->close();
  }
  if (idle_.empty()) return;
  const auto oldest = std::move(idle_.front());
  idle_.erase(idle_.begin());
  oldest->close();
}

ConnectionPtr Pool::idle_one() {
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  connection->in_use_ = true;
  return connection;
}

NoConnection Pool::no_turn(StopReason why) const {
  if (why == StopReason::unreachable) return {Outcome::unreachable, kUnreachable};
  if (why != StopReason::connect_timeout) return {Outcome::cancelled, "cancelled"};
  if (!short_of_.empty())
    return {Outcome::local_error, "karmad could open no connection in time: " + short_of_ +
                                      " (see ulimit -n, net.ipv4.ip_local_port_range)"};
  return {Outcome::local_error,
          "no connection became free in time (agent_max_connections, agent_max_connecting)"};
}

/// No connect is tried for kShortage, by any request; meanwhile connections are reused.
void Pool::shortage(const std::string& why) {
  loop_.shortages.add(1);
  short_of_ = why;
  if (std::exchange(short_, true)) return;
  shortage_ends_.expires_after(kShortage);
  shortage_ends_.async_wait([this](error_code error) {
    if (error) return;  // it is being destroyed
    short_ = false;
    serve();
  });
}

/// A request's place in the queue for a connection.
class Pool::Place {
 public:
  Place(Pool& pool, std::uint64_t place, Stop& stop) : number(place), pool_(pool), stop_(stop) {
    pool_.waiting_.insert(std::ranges::upper_bound(pool_.waiting_, number, {}, &Place::number),
                          this);
    pool_.agent_->counts.waiting.fetch_add(1, std::memory_order_relaxed);
  }
  Place& operator=(Place&&) = delete;
  ~Place() {
    if (pool_.waiting_.front() == this) {
      pool_.waiting_.pop_front();
    } else {
      std::erase(pool_.waiting_, this);
    }
    pool_.agent_->counts.waiting.fetch_sub(1, std::memory_order_relaxed);
    if (pool_.waiting_.empty()) pool_.leave();
    pool_.serve_soon();  // passes an unused wake-up to the next one
  }
  /// Waits until another try may succeed, or a stop is requested.
  Task<void> wait() {
    if (stop_.requested() || refusal_) co_return;
    const auto guard = stop_.calling<&AsyncEvent::notify>(turn_);
    co_await turn_;
  }
  void wake() { turn_.notify(); }
  void refuse(const NoConnection& why) {
    refusal_ = why;
    turn_.notify();
  }
  const std::optional<NoConnection>& refusal() const { return refusal_; }
  bool ends_by(TimePoint until) const {
    return until == TimePoint::max() || (stop_.armed() && stop_.due() <= until);
  }

  const std::uint64_t number;

 private:
  Pool& pool_;
  Stop& stop_;
  AsyncEvent turn_;
  std::optional<NoConnection> refusal_;
};

/// A connection or right was returned: the oldest waiting request tries again.
void Pool::next_waiter() {
  if (!waiting_.empty()) waiting_.front()->wake();
}

/// The same from within deeper calls: posted to the loop, so that a long queue causes no deep
/// recursion.
void Pool::serve_soon() {
  if (waiting_.empty() || std::exchange(serves_soon_, true)) return;
  asio::post(loop_.io, [this] {
    serves_soon_ = false;
    serve();
  });
}

/// Serves as many requests as possible now.
void Pool::serve() {
  apply_refusal();
  while (!waiting_.empty()) {
    const auto number = waiting_.front()->number;
    waiting_.front()->wake();
    if (!waiting_.empty() && waiting_.front()->number == number) return;
  }
}

/// A connect failed: the result for all waiting requests whose time is over by `until`. If a
/// connection is open, requests continue to wait for it.
void Pool::refuse_waiting(const NoConnection& why, TimePoint until) {
  if (waiting_.empty() || local_ > connecting_) return;
  if (!refusal_ || refusal_->until <= until) refusal_ = {why, until, 0};
  refusal_->before = places_;
  serve_soon();
}

void Pool::apply_refusal() {
  if (!refusal_) return;
  const auto refusal = *std::exchange(refusal_, std::nullopt);
  for (;;) {  // ending a wait may end others: search again each time
    const auto next = std::ranges::find_if(waiting_, [&](const auto* place) {
      return place->number >= refusal.before || place->ends_by(refusal.until);
    });
    if (next == waiting_.end() || (*next)->number >= refusal.before) return;
    (*next)->refuse(refusal.why);
  }
}

Task<std::expected<Pool::Taken, NoConnection>> Pool::take(From from, Stop& stop) {
  using Result = std::expected<Taken, NoConnection>;
  if (from == From::idle)
    if (auto idle = take_idle()) co_return Result(Taken{std::move(idle), /*reused=*/true, {}});
  const auto opens = [this, from](std::size_t requests) {
    return !short_ && (from == From::fresh || !waits_for_watched(requests)) && try_open();
  };
  const auto number = places_++;
  for (bool first = true;; first = false) {
    if (!first || !waiting_.empty() || !opens(1)) {
      Place place(*this, number, stop);
      for (;;) {
        co_await place.wait();
        if (stop.requested()) co_return Result(std::unexpected(no_turn(stop.why())));
        if (place.refusal()) co_return Result(std::unexpected(*place.refusal()));
        if (waiting_.front() != &place) continue;  // strictly in order
        if (from == From::idle && ready()) co_return Result(Taken{idle_one(), /*reused=*/true, {}});
        if (opens(waiting_.size())) break;
      }
    }
    auto made = co_await connect(stop);
    if (made) short_of_.clear();
    if (made || made.error().outcome != Outcome::local_error) co_return made;
    shortage(made.error().why);
  }
}

}  // namespace karmad
