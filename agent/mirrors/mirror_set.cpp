#include "agent/mirrors/mirror_set.hpp"

#include <algorithm>
#include <boost/smart_ptr/make_local_shared.hpp>
#include <cassert>
#include <utility>

#include "strategies/expected_wait.hpp"

namespace karmad {

namespace {

using namespace std::chrono_literals;

/// The present state, for all workers.
std::shared_ptr<const SetView> view_of(const SetState& state) {
  SetView view{.picture = state.picture(), .primary = state.primary(), .mixed = state.mixed()};
  for (std::size_t i = 0; i < state.size(); ++i) {
    view.mirrors.push_back(state[i]);
    if (state[i].unreachable) view.unreachable.insert(i);
  }
  return std::make_shared<const SetView>(std::move(view));
}

ViewPtr for_one_worker(std::shared_ptr<const SetView> view) {
  const auto* const shown = view.get();
  return {boost::make_local_shared<std::shared_ptr<const SetView>>(std::move(view)), shown};
}

std::vector<Member> one_per_mirror(std::vector<Member> members,
                                   const std::vector<std::unique_ptr<Mirror>>& mirrors) {
  members.resize(mirrors.size());
  for (std::size_t i = 0; i < mirrors.size(); ++i) members[i].address = mirrors[i]->agent->name;
  return members;
}

}  // namespace

WaitQueue::Status WaitQueue::status() const {
  const auto read = [](const auto& value) { return value.load(std::memory_order_relaxed); };
  return {.waiting = read(waiting),
          .waited = read(waited),
          .refused = read(refused),
          .time = Micros{static_cast<Micros::rep>(read(micros))}};
}

void write(StatsWriter& out, const WaitQueue::Status& line) {
  out.add(
      {"waiting", "queries that wait because all mirrors of the shard are full", StatKind::gauge},
      line.waiting);
  out.add({"waited", "queries that have waited because all mirrors of the shard were full"},
          line.waited);
  out.add({"refused", "queries refused because all mirrors of the shard were full"}, line.refused);
  out.add({"waited_time", "total time of waits because all mirrors of the shard were full",
           StatKind::counter, Unit::milliseconds, kHidden, "waited_ms"},
          line.time);
}

MirrorSet::MirrorSet(std::vector<std::unique_ptr<Mirror>> mirrors, SetOptions options,
                     const Loops& loops)
    : mirrors_(std::move(mirrors)),
      options_(std::move(options)),
      loops_(loops),
      state_(options_.state, one_per_mirror(std::move(options_.members), mirrors_)),
      pingers_(mirrors_.size()),
      slots_(options_.workers) {
  assert(!mirrors_.empty() && mirrors_.size() <= 64);
  for (auto& mirror : mirrors_) mirror->karma_ = 1.0 / static_cast<double>(mirrors_.size());
  take_over_karma();
  const auto nothing_yet = view_of(state_);
  for (auto& slot : slots_) {
    slot.view = for_one_worker(nothing_yet);
    slot.attempts = std::vector<AttemptsInFlight>(mirrors_.size());
    for (std::size_t i = 0; i < mirrors_.size(); ++i)
      slot.attempts[i].count_in(mirrors_[i]->signals.in_flight_count());
  }
}

/// Retained mirrors keep their proportions. A new mirror gets the share that it would have in a new
/// set.
void MirrorSet::take_over_karma() {
  const auto& before = options_.before;
  if (!before) return;
  double sum = 0;
  double left = 0;
  for_each_former(options_.places, [&](std::size_t now, std::size_t then) {
    sum += (*before)[then].karma();
    left += mirrors_[now]->karma();
  });
  if (sum <= 0) return;
  for_each_former(options_.places, [&](std::size_t now, std::size_t then) {
    const auto& old = *before->mirrors_[then];
    auto& mirror = *mirrors_[now];
    mirror.karma_ = old.karma() / sum * left;
    mirror.critical_ = old.critical_.load(std::memory_order_relaxed);
    mirror.errors_ = old.errors_.load(std::memory_order_relaxed);
  });
}

void MirrorSet::take_over() {
  const auto before = std::exchange(options_.before, nullptr);
  if (!before) return;
  state_.take_over(before->state_, options_.places);
  usual_ = before->usual_;
  block_ = before->block_;
  typical_duration_ = before->typical_duration_.load(std::memory_order_relaxed);
  failure_cost_ = before->failure_cost_;
  // Those that wait there compete for the same slots. Of several sets that replace it one counts.
  if (!std::exchange(before->queue_passed_on_, true)) queue_ = before->queue_;
  options_.strategy->continue_from(before->strategy(), options_.places);
  for (std::size_t i = 0; i < mirrors_.size(); ++i)
    if (!options_.places[i]) absent_.insert(i);
  publish();
}

MirrorViews MirrorSet::fill(Views& views, TimePoint at, unsigned worker,
                            const PickRecord* record) const {
  if (record == nullptr) views.resize(mirrors_.size());
  auto* const filled = record == nullptr ? views.data() : record->mirrors;
  const auto typical = typical_duration_.load(std::memory_order_relaxed);
  const auto& attempts = slots_[worker].attempts;
  const auto now = at.time_since_epoch().count();
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    const auto& mirror = *mirrors_[i];
    auto& view = filled[i];
    view.errors_in_a_row = mirror.agent->counters.errors_in_a_row.load(std::memory_order_relaxed);
    view.in_flight = mirror.agent->counters.in_flight.load(std::memory_order_relaxed);
    view.weight = mirror.weight() * mirror.signals.started();
    view.karma = mirror.karma_.load(std::memory_order_relaxed) * view.weight;
    view.rates.critical = mirror.critical_.load(std::memory_order_relaxed);
    view.rates.errors = mirror.errors_.load(std::memory_order_relaxed);
    mirror.signals.show(view, typical);
    const auto began = attempts[i].oldest();
    view.oldest = began != 0 && now > began ? static_cast<float>(now - began) : 0;
    view.owed = 0;
    if (slots_.size() > 1) view.oldest = std::max(view.oldest, mirror.signals.oldest());
    if (view.oldest > 0) {
      const auto silence =
          std::clamp(static_cast<float>(now - mirror.signals.last_answer()), 0.0F, view.oldest);
      view.owed = owed_answers(mirror.signals.in_flight(), silence, view.latency);
    }
  }
  return {filled, mirrors_.size()};
}

SelectionCriteria MirrorSet::with_selector(SelectionCriteria criteria) const {
  if (options_.selector) criteria.selector = &options_.selector;
  return criteria;
}

namespace {

PickSteps* steps_of(const MirrorSet::PickRecord* record) {
  return record != nullptr ? &record->steps : nullptr;
}

}  // namespace

std::optional<Pick> MirrorSet::pick(const SelectionCriteria& criteria, unsigned worker,
                                    RandomSource& random, const PickRecord* record) const {
  if (mirrors_.size() == 1 && criteria.need == nullptr && !options_.selector && record == nullptr) {
    if (!criteria.excluded.empty()) return std::nullopt;
    return Pick{.mirror = 0, .suitable = Candidates::first(1), .acceptable = Candidates::first(1)};
  }
  Views views;
  const auto mirrors = fill(views, criteria.now, worker, record);
  const auto& picture = slots_[worker].view->picture;
  auto* const steps = steps_of(record);
  if (!options_.selector)
    return select(criteria, picture, mirrors, *options_.strategy, random, steps);
  return select(with_selector(criteria), picture, mirrors, *options_.strategy, random, steps);
}

Candidates MirrorSet::acceptable(const SelectionCriteria& criteria, unsigned worker,
                                 const PickRecord* record) const {
  Views views;
  const auto mirrors = fill(views, criteria.now, worker, record);
  return karmad::acceptable(with_selector(criteria), slots_[worker].view->picture, mirrors,
                            *options_.strategy, steps_of(record));
}

std::vector<double> MirrorSet::shares(const SelectionCriteria& criteria, unsigned worker) const {
  Views views;
  const auto mirrors = fill(views, criteria.now, worker);
  const auto from = karmad::acceptable(with_selector(criteria), slots_[worker].view->picture,
                                       mirrors, *options_.strategy);
  if (from.empty()) return std::vector<double>(mirrors.size());
  const auto shares = options_.strategy->shares(mirrors, from);
  return {shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(mirrors.size())};
}

Candidates MirrorSet::full() const {
  Candidates full;
  if (!limited_.load(std::memory_order_relaxed)) return full;
  for (std::size_t i = 0; i < mirrors_.size(); ++i)
    if (mirrors_[i]->agent->slots.full()) full.insert(i);
  return full;
}

Candidates MirrorSet::unasked(TimePoint now) const {
  Candidates unasked;
  const auto made = made_.load(std::memory_order_relaxed);
  const auto limit = now.time_since_epoch().count() - kUnasked.count();
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    const auto last = mirrors_[i]->agent->counters.last_answer.load(std::memory_order_relaxed);
    if (made != 0 && std::max(last, made) < limit) unasked.insert(i);
  }
  return unasked;
}

Candidates MirrorSet::at_starting_limit() const {
  Candidates limited;
  if (!any_starting_.load(std::memory_order_relaxed)) return limited;
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    const auto& mirror = *mirrors_[i];
    const auto in_flight = mirror.agent->counters.in_flight.load(std::memory_order_relaxed);
    if (mirror.signals.at_starting_limit(in_flight, options_.slow_start)) limited.insert(i);
  }
  return limited;
}

void MirrorSet::serve(std::span<const MirrorService> service, TimePoint now) {
  assert(service.size() == mirrors_.size());
  OutOfService next;
  for (std::size_t i = 0; i < service.size(); ++i) {
    mirrors_[i]->weight_.store(service[i].weight, std::memory_order_relaxed);
    if (service[i].state == ServiceState::drain) next.drained.insert(i);
    if (service[i].state == ServiceState::maint) next.maint.insert(i);
  }
  const auto before = out_of_service();
  if (next.drained == before.drained && next.maint == before.maint) return;
  drained_.store(next.drained.bits(), std::memory_order_relaxed);
  maint_.store(next.maint.bits(), std::memory_order_relaxed);
  for (const auto back : before.maint - next.maint) start_slowly(back, now);
  wake_waiters();
}

void MirrorSet::reset_karma(Candidates mirrors) {
  for (const auto i : mirrors)
    mirrors_[i]->karma_.store(1.0 / static_cast<double>(mirrors_.size()),
                              std::memory_order_relaxed);
}

void MirrorSet::read_limits() {
  const auto limited = [](const auto& mirror) { return mirror->agent->slots.limited(); };
  // Called by each choice: a store would take the cache line from the other workers.
  if (const bool any = std::ranges::any_of(mirrors_, limited); any != limited_) limited_ = any;
}

std::uint64_t MirrorSet::longest_queue(unsigned per_slot) const {
  std::uint64_t slots = 0;
  for (const auto& mirror : mirrors_) slots += mirror->agent->slots.limit();
  return slots * per_slot;
}

Task<void> MirrorSet::news(Loop& loop, TimePoint until, Stop& stop, SlotWaiter* for_slot) {
  auto& slot = slots_[loop.index];
  Waiter waiter{.signal = {}, .seen = slot.news};
  slot.waiting.push_back(&waiter);
  if (for_slot != nullptr) for_slot->wake = &waiter.signal;
  stop.arm(until, StopReason::deadline);
  if (!stop.requested() && (for_slot == nullptr || !for_slot->got())) {
    const auto guard = stop.calling<&AsyncEvent::notify>(waiter.signal);
    co_await waiter.signal;
  }
  stop.disarm();
  if (for_slot != nullptr) for_slot->wake = nullptr;
  std::erase(slot.waiting, &waiter);
}

void MirrorSet::check_now() {
  if (check_posted_.exchange(true)) return;  // one post is enough for all waiting queries
  loops_.post(0, [self = shared_from_this()] {
    self->check_posted_ = false;
    self->apply({.check_now = Candidates::first(self->size())});
  });
}

void MirrorSet::check_generations() {
  if (barrier_posted_.exchange(true)) return;
  loops_.post(0, [self = shared_from_this()] {
    self->barrier_posted_ = false;
    for (const auto& pinger : self->pingers_)
      if (const auto by = pinger.lock()) by->check_now(kBarrierRecheck);
  });
}

template <class Job>
void MirrorSet::on_workers(Job job) {
  for (unsigned worker = 0; worker < slots_.size(); ++worker)
    loops_.post(worker, [self = shared_from_this(), worker, job] { job(self->slots_[worker]); });
}

void MirrorSet::close() {
  on_workers([](Slot& slot) {
    slot.closed = true;
    wake(slot);
  });
}

void MirrorSet::wake_waiters() {
  on_workers(wake);
}

void MirrorSet::on_error(std::size_t mirror, UseError error, TimePoint now) {
  loops_.post(0, [self = shared_from_this(), mirror, error = std::move(error), now] {
    self->take_generation(mirror);
    const auto before = self->state_.picture();
    const auto effects = self->state_.on_error(mirror, error, now);
    self->apply(effects);
    if (effects != Effects{} || self->state_.picture() != before) self->publish();
  });
}

void MirrorSet::ping_answered(std::size_t mirror, Description told, Micros trip, TimePoint now) {
  take_generation(mirror);
  if (told.load) mirrors_[mirror]->signals.reported_load(now, *told.load);
  apply(state_.answered(mirror, std::move(told), trip, now));
  publish();
}

bool MirrorSet::ping_failed(std::size_t mirror, PingFailure failure, std::string why,
                            TimePoint now) {
  take_generation(mirror);
  auto effects = state_.failed(mirror, failure, std::move(why), now);
  // The pinger that called does that itself, without the pause.
  const bool again = effects.check_now.contains(mirror);
  effects.check_now = {};
  apply(effects);
  publish(effects.interrupt);
  return again;
}

void MirrorSet::take_generation(std::size_t mirror) {
  state_.generation(mirror, mirrors_[mirror]->agent->generation.load(std::memory_order_relaxed));
}

void MirrorSet::apply(const Effects& effects) {
  for (const auto mirror : effects.drop_idle)
    mirrors_[mirror]->agent->discard_connections(state_[mirror].generation);
  for (const auto mirror : effects.cancel_ping)
    if (const auto by = pingers_[mirror].lock()) by->break_off();
  for (const auto mirror : effects.check_now)
    if (const auto by = pingers_[mirror].lock()) by->check_now(kRecheck);
}

/// Posts the view before it interrupts attempts, which need the new view to be retried elsewhere.
void MirrorSet::publish(Candidates unreachable) {
  on_workers([next = view_of(state_), unreachable](Slot& slot) {
    show(slot, next);
    for (const auto mirror : unreachable) slot.attempts[mirror].interrupt();
  });
}

void MirrorSet::show(Slot& slot, std::shared_ptr<const SetView> view) {
  slot.view = for_one_worker(std::move(view));
  wake(slot);
}

void MirrorSet::wake(Slot& slot) {
  const auto news = ++slot.news;
  // A woken query may end other waits, so the search restarts each time.
  for (;;) {
    const auto next =
        std::ranges::find_if(slot.waiting, [&](const auto* w) { return w->seen < news; });
    if (next == slot.waiting.end()) return;
    (*next)->seen = news;
    (*next)->signal.notify();
  }
}

// ---- what is kept over a restart of the process

MirrorLearnedState MirrorSet::memory(std::size_t mirror, TimePoint now) const {
  const auto& of = *mirrors_[mirror];
  MirrorLearnedState memory{.karma = of.karma(), .signals = of.signals.memory(now)};
  const auto& facts = state_.facts(mirror);
  if (state_[mirror].answers_pings && facts.role != Role::unknown) {
    memory.description = state_[mirror].description;
    memory.trip = facts.rtt.value_or(Micros{});
  }
  of.record->quantiles.add_recent(now, memory.latencies);
  return memory;
}

void MirrorSet::restore(std::span<const MirrorLearnedState* const> memories, TimePoint now) {
  assert(memories.size() == mirrors_.size());
  double sum = 0;
  double left = 0;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (memories[i] == nullptr) continue;
    sum += memories[i]->karma;
    left += mirrors_[i]->karma();
  }
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (memories[i] == nullptr) continue;
    const auto& memory = *memories[i];
    auto& mirror = *mirrors_[i];
    if (sum > 0) mirror.karma_ = memory.karma / sum * left;
    mirror.signals.restore(memory.signals, now);
    if (mirror.signals.starting()) any_starting_.store(true, std::memory_order_relaxed);
    mirror.record->quantiles.restore(now, memory.latencies);
    if (memory.description) state_.answered(i, *memory.description, memory.trip, now);
  }
  const auto view = view_of(state_);
  for (auto& slot : slots_) show(slot, view);
}

void QueuedWait::wants(Candidates mirrors) {
  if (waiter_ && mirrors == wanted_) return;
  leave();
  wanted_ = mirrors;
  waiter_ = std::make_shared<SlotWaiter>(set_.loops(), worker_);
  for (const auto mirror : wanted_) {
    set_[mirror].agent->slots.join(waiter_, mirror);
    if (waiter_->got()) return;
  }
}

std::optional<QueuedWait::Got> QueuedWait::take() {
  if (!waiter_) return std::nullopt;
  const auto waiter = std::exchange(waiter_, nullptr);
  const bool got_none = waiter->give_up();
  for (const auto mirror : wanted_) set_[mirror].agent->slots.leave(*waiter);
  if (got_none) return std::nullopt;
  const auto mirror = *waiter->got();
  return Got{mirror, set_[mirror].agent->slots.take_granted()};
}

}  // namespace karmad
