#include "agent/mirrors/agent_slots.hpp"

#include <algorithm>

namespace karmad {

namespace {

using namespace std::chrono_literals;

/// Shortest window and fewest attempts; with fewer it continues up to the longest window.
constexpr Micros kWindow = 100ms;
constexpr std::uint32_t kEnough = 10;
constexpr Micros kLongestWindow = 2s;

}  // namespace

void AgentSlot::answered(Micros took) noexcept {
  if (!of_->automatic()) return;
  auto& window = of_->window_;
  window.micros.fetch_add(static_cast<std::uint64_t>(took.count()), std::memory_order_relaxed);
  window.answers.fetch_add(1, std::memory_order_relaxed);
}

void AgentSlot::dropped() noexcept {
  if (of_->automatic()) of_->window_.dropped.fetch_add(1, std::memory_order_relaxed);
}

bool SlotWaiter::grant(std::size_t mirror) {
  if (!move_on(static_cast<int>(mirror))) return false;
  loops_.post(worker_, [self = shared_from_this()] {
    if (self->wake != nullptr) self->wake->notify();
  });
  return true;
}

// A query that frees a slot then checks for waiters; a query that joins the queue then checks for
// free slots. Both use sequentially consistent operations, so at least one sees the other.

bool AgentSlots::take_one() noexcept {
  const auto most = counters_.most_in_flight.load(std::memory_order_relaxed);
  std::uint32_t before = 0;
  if (most == 0) {
    before = counters_.in_flight.fetch_add(1, std::memory_order_relaxed);
    const auto limit = limit_.load(std::memory_order_relaxed);
    if (limit != 0 && before >= limit) over_.fetch_add(1, std::memory_order_relaxed);
  } else {
    before = counters_.in_flight.load();
    do {
      if (before >= most) return false;
    } while (!counters_.in_flight.compare_exchange_weak(before, before + 1));
  }
  if (automatic() && before + 1 > window_.peak.load(std::memory_order_relaxed))
    window_.peak.store(before + 1, std::memory_order_relaxed);
  return true;
}

std::optional<AgentSlot> AgentSlots::try_take() {
  const bool others = limited() && counters_.waiting.load(std::memory_order_relaxed) != 0;
  if (others || !take_one()) return std::nullopt;
  return AgentSlot(*this);
}

void AgentSlots::give() noexcept {
  counters_.in_flight.fetch_sub(1);
  if (counters_.waiting.load() != 0) hand_out();
}

/// Drops queue entries whose waiter got a slot elsewhere.
bool AgentSlots::grant_first() {
  const std::scoped_lock lock(mutex_);
  while (!queue_.empty()) {
    const auto [waiter, mirror] = std::move(queue_.front());
    queue_.pop_front();
    counters_.waiting.store(static_cast<std::uint32_t>(queue_.size()));
    if (waiter->grant(mirror)) return true;
  }
  return false;
}

void AgentSlots::hand_out() {
  while (counters_.waiting.load() != 0 && take_one())
    if (!grant_first()) counters_.in_flight.fetch_sub(1);
}

void AgentSlots::join(const std::shared_ptr<SlotWaiter>& waiter, std::size_t mirror) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back({waiter, mirror});
    counters_.waiting.store(static_cast<std::uint32_t>(queue_.size()));
  }
  hand_out();
}

void AgentSlots::leave(const SlotWaiter& waiter) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(queue_, [&](const Entry& entry) { return entry.waiter.get() == &waiter; });
  counters_.waiting.store(static_cast<std::uint32_t>(queue_.size()));
}

void AgentSlots::rules(const AgentSlotRules& rules) {
  if (rules == rules_) return;
  rules_ = rules;
  auto measured = rules.measured;
  if (rules.most != 0) {
    measured.most = std::min(measured.most, rules.most);
    measured.least = std::min(measured.least, rules.most);
  }
  if (!rules.automatic) {
    automatic_.reset();
  } else if (automatic_) {
    automatic_->rules(measured);
  } else {
    automatic_.emplace(measured);
  }
  measuring_.store(rules.automatic, std::memory_order_relaxed);
  publish();
}

std::optional<ConcurrencyLimit::Learned> AgentSlots::learned() const {
  if (!automatic_) return std::nullopt;
  return automatic_->learned();
}

void AgentSlots::restore(const ConcurrencyLimit::Learned& learned) {
  if (!automatic_) return;
  automatic_->restore(learned);
  publish();
}

void AgentSlots::publish() {
  const auto now = automatic_ ? automatic_->limit() : rules_.most;
  limit_.store(automatic_ ? automatic_->settled() : rules_.most, std::memory_order_relaxed);
  counters_.most_in_flight.store(rules_.enforced ? now : 0);
  if (counters_.waiting.load() != 0) hand_out();
}

void AgentSlots::refresh(TimePoint now) {
  if (!automatic_) return;
  if (!window_began_) window_began_ = now;
  const auto read = [](auto& value) { return value.load(std::memory_order_relaxed); };
  const auto length = now - *window_began_;
  const auto ended = read(window_.answers) + read(window_.dropped);
  if (length < kWindow || (ended < kEnough && length < kLongestWindow)) return;
  window_began_ = now;
  const auto taken = [](auto& value) { return value.exchange(0, std::memory_order_relaxed); };
  LatencyWindow window;
  const auto micros = taken(window_.micros);
  window.answers = taken(window_.answers);
  window.dropped = taken(window_.dropped);
  window.peak = window_.peak.exchange(read(counters_.in_flight), std::memory_order_relaxed);
  if (window.answers > 0) window.mean = Micros{static_cast<std::int64_t>(micros / window.answers)};
  automatic_->on_window(window, now);
  publish();
}

}  // namespace karmad
