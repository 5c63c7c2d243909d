#include "agent/transport/destination.hpp"

#include "agent/transport/loop/loop.hpp"

namespace karmad {

namespace {

using namespace std::chrono_literals;

/// How long a busy worker may keep its connections from a waiting worker.
constexpr Micros kTurn = 10ms;

}  // namespace

ConnectionLimits::ConnectionLimits(unsigned workers, ConnectionBounds bounds)
    : bounds_(bounds), shares_(std::max(1u, workers)) {}

void ConnectionLimits::change(ConnectionBounds bounds) {
  const std::scoped_lock lock(mutex_);
  bounds_ = bounds;
  call_first();
}

void ConnectionLimits::close_outdated() {
  const std::scoped_lock lock(mutex_);
  for (auto* member : members_) member->post([](Member& holder) { holder.close_outdated(); });
}

/// The part of a bound that is reserved for each worker.
unsigned ConnectionLimits::part_of(unsigned bound) const {
  return bound / (2 * static_cast<unsigned>(shares_.size()));
}

/// Whether the worker may have one more: from its own part, or, if `shared`, from what is left
/// without the other workers' parts.
bool ConnectionLimits::has_room(unsigned Share::*what, unsigned bound, const Member& who,
                                bool shared) const {
  const auto part = part_of(bound);
  unsigned taken = 0;
  unsigned spoken_for = 0;
  for (const auto& share : shares_) {
    taken += share.*what;
    spoken_for += std::max(share.*what, part);
  }
  const bool own = shares_[who.loop_.index].*what < part;
  return own ? taken < bound : shared && spoken_for < bound;
}

bool ConnectionLimits::lacks_connection(const Member& who) const {
  return bounds_.connections != 0 &&
         !has_room(&Share::connections, bounds_.connections, who, /*shared=*/true);
}

bool ConnectionLimits::may_open(const Member& who) const {
  const bool first = line_.empty() || line_.front().who == &who;
  const auto room = [&](unsigned Share::*what, unsigned bound) {
    return bound == 0 || has_room(what, bound, who, first);
  };
  return room(&Share::connections, bounds_.connections) &&
         room(&Share::connecting, bounds_.connecting);
}

void ConnectionLimits::take_off(const Member& who) {
  std::erase_if(line_, [&](const Place& place) { return place.who == &who; });
  call_first();
}

/// Calls the first worker in the queue if it is its turn, and notes whether it lacks a connection.
void ConnectionLimits::call_first() {
  const bool waits = !line_.empty();
  short_of_connections_.store(waits && lacks_connection(*line_.front().who),
                              std::memory_order_relaxed);
  if (waits && may_open(*line_.front().who))
    line_.front().who->post([](Member& first) { first.may_open(); });
}

/// Asks all other workers with more than their part to close an idle connection.
void ConnectionLimits::ask_for_room(const Member& who) {
  for (auto* other : members_)
    if (other != &who && shares_[other->loop_.index].connections > part_of(bounds_.connections))
      other->post([](Member& holder) { holder.make_room(); });
}

ConnectionLimits::Member::Member(ConnectionLimits& of, Loop& loop,
                                 std::shared_ptr<const void> owner)
    : owner_(std::move(owner)), of_(of), loop_(loop), self_(std::make_shared<Member*>(this)) {
  const std::scoped_lock lock(of_.mutex_);
  of_.members_.push_back(this);
}

ConnectionLimits::Member::~Member() {
  const std::scoped_lock lock(of_.mutex_);
  std::erase(of_.members_, this);
  of_.take_off(*this);
}

/// The job is dropped if the member was destroyed; both happen on its worker.
template <class Job>
void ConnectionLimits::Member::post(Job job) {
  loop_.post([self = std::weak_ptr(self_), job = std::move(job)] {
    if (const auto alive = self.lock()) job(**alive);
  });
}

bool ConnectionLimits::Member::try_open() {
  const std::scoped_lock lock(of_.mutex_);
  if (of_.may_open(*this)) {
    auto& share = of_.shares_[loop_.index];
    ++share.connections;
    ++share.connecting;
    if (std::exchange(queued_, false)) of_.take_off(*this);
    return true;
  }
  if (std::exchange(queued_, true)) return false;
  of_.line_.push_back({this, Loop::now()});
  if (of_.lacks_connection(*this)) {
    of_.short_of_connections_.store(true, std::memory_order_relaxed);
    of_.ask_for_room(*this);
  }
  return false;
}

void ConnectionLimits::Member::leave() {
  if (!std::exchange(queued_, false)) return;
  const std::scoped_lock lock(of_.mutex_);
  of_.take_off(*this);
}

void ConnectionLimits::Member::established() {
  const std::scoped_lock lock(of_.mutex_);
  --of_.shares_[loop_.index].connecting;
  of_.call_first();
}

void ConnectionLimits::Member::not_opened() {
  const std::scoped_lock lock(of_.mutex_);
  auto& share = of_.shares_[loop_.index];
  --share.connecting;
  --share.connections;
  of_.call_first();
}

void ConnectionLimits::Member::closed() {
  const std::scoped_lock lock(of_.mutex_);
  --of_.shares_[loop_.index].connections;
  of_.call_first();
}

bool ConnectionLimits::Member::try_keep() {
  const std::scoped_lock lock(of_.mutex_);
  if (!of_.has_room(&Share::kept, of_.bounds_.kept, *this, /*shared=*/true)) return false;
  ++of_.shares_[loop_.index].kept;
  return true;
}

void ConnectionLimits::Member::kept_no_more() {
  const std::scoped_lock lock(of_.mutex_);
  --of_.shares_[loop_.index].kept;
}

bool ConnectionLimits::Member::yields(bool idle) const {
  if (!of_.short_of_connections_.load(std::memory_order_relaxed)) return false;
  const std::scoped_lock lock(of_.mutex_);
  if (of_.line_.empty() || of_.line_.front().who == this) return false;
  if (of_.shares_[loop_.index].connections <= of_.part_of(of_.bounds_.connections)) return false;
  return idle || Loop::now() - of_.line_.front().since >= kTurn;
}

void ConnectionLimits::Member::refuse_other_workers(const NoConnection& why, TimePoint until) {
  const std::scoped_lock lock(of_.mutex_);
  for (const auto& place : of_.line_)
    if (place.who != this)
      place.who->post([why, until](Member& waiting) { waiting.refused(why, until); });
}

}  // namespace karmad
