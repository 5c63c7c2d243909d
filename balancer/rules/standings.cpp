#include "balancer/rules/standings.hpp"

#include <algorithm>

namespace karmad {

namespace {

using std::memory_order_relaxed;

}  // namespace

MirrorHealth MirrorHealth::after(Outcome outcome, bool is_silent) const {
  if (is_answered(outcome) || outcome == Outcome::client_mistake) {
    auto next = *this;
    next.known = true;
    next.unreachable = next.silent = false;
    next.failures = 0;
    if (answers < needed) ++next.answers;
    return next;
  }
  if (!consequence(outcome).error) return *this;  // not caused by the mirror
  const bool now_unreachable =
      outcome == Outcome::connect_failed || outcome == Outcome::connect_timeout;
  // A mirror that failed otherwise before still needs its proof.
  const bool only_unreachable = now_unreachable && (!known || needed == 1);
  return {.known = true,
          .unreachable = now_unreachable,
          .silent = outcome == Outcome::query_timeout && (silent || is_silent),
          .answers = 0,
          .needed = only_unreachable ? std::uint8_t{1} : kProof,
          .failures = std::min(static_cast<std::uint8_t>(failures + 1), kDown)};
}

void SetHealth::restore(std::size_t mirror, const MirrorHealth& standing) noexcept {
  cells_[mirror].standing.store(pack(standing), memory_order_relaxed);
  count_in(standing);
}

void SetHealth::count_in(const MirrorHealth& standing) noexcept {
  if (standing.unreachable) unreachable_.fetch_add(1, memory_order_relaxed);
  if (standing.silent) silent_count_.fetch_add(1, memory_order_relaxed);
  if (standing.down()) down_count_.fetch_add(1, memory_order_relaxed);
}

void SetHealth::take_over(const SetHealth& before, const FormerPlaces& places) noexcept {
  for_each_former(places, [&](std::size_t now, std::size_t then) {
    cells_[now].standing = before.cells_[then].standing.load(memory_order_relaxed);
    cells_[now].probed = before.cells_[then].probed.load(memory_order_relaxed);
    count_in(of(now));
  });
}

void SetHealth::ended(std::size_t mirror, Outcome outcome, bool silent) noexcept {
  auto& standing = cells_[mirror].standing;
  auto bits = standing.load(memory_order_relaxed);
  MirrorHealth before;
  MirrorHealth next;
  do {
    before = unpack(bits);
    next = before.after(outcome, silent);
    if (next == before) return;
  } while (!standing.compare_exchange_weak(bits, pack(next)));
  if (next.unreachable != before.unreachable) unreachable_.fetch_add(next.unreachable ? 1 : -1u);
  if (next.silent && !before.silent) cells_[mirror].probed.store(0, memory_order_relaxed);
  if (next.silent != before.silent) silent_count_.fetch_add(next.silent ? 1 : -1u);
  if (next.down() != before.down()) down_count_.fetch_add(next.down() ? 1 : -1u);
  if (!before.known || (next.proven() && !before.proven())) notify_waiters();
}

/// An attempt that started at an unknown mirror has ended, perhaps without a result.
void SetHealth::left(std::size_t mirror) noexcept {
  auto& cell = cells_[mirror];
  if (cell.under_way.fetch_sub(1) == 1 && !unpack(cell.standing.load()).known) notify_waiters();
}

/// A waiter is counted before it checks, and this checks for waiters after the change: at least one
/// sees the other (sequentially consistent; all of it is rare).
void SetHealth::notify_waiters() noexcept {
  if (waiting_.load() != 0) changed_.store(true);
}

SetHealth::InFlightGuard::InFlightGuard(SetHealth& standings, std::size_t mirror)
    : standings_(standings), mirror_(mirror), counted_(!standings.of(mirror).known) {
  if (counted_) standings.cells_[mirror].under_way.fetch_add(1);
}

SetHealth::Groups SetHealth::groups() const noexcept {
  Groups groups;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto standing = unpack(cells_[i].standing.load());
    if (standing.proven()) groups.proven.insert(i);
    if (standing.failing()) groups.failing.insert(i);
    if (standing.down()) groups.down.insert(i);
    if (standing.known) continue;
    groups.unknown.insert(i);
    if (cells_[i].under_way.load() != 0) groups.told_soon.insert(i);
  }
  return groups;
}

std::optional<std::size_t> SetHealth::try_probe(Candidates unreachable, TimePoint now,
                                                Micros every) noexcept {
  const auto at = now.time_since_epoch().count();
  for (const auto mirror : unreachable) {
    auto& probed = cells_[mirror].probed;
    auto last = probed.load(memory_order_relaxed);
    if (at - last >= every.count() &&
        probed.compare_exchange_strong(last, at, memory_order_relaxed))
      return mirror;
  }
  return std::nullopt;
}

RetryTarget retry_target(const PreferenceLevels& untried, Candidates avoided,
                         const SetHealth::Groups& stand, bool funded) {
  using On = RetryTarget::On;
  const auto all = untried.all();
  for (const auto from : {all - avoided, all}) {
    if (const auto proven = untried.first_of(from & stand.proven); !proven.empty())
      return {On::nothing, proven};
    const auto told_soon = untried.first_of(from & stand.told_soon);
    const auto unasked = untried.first_of((from & stand.unknown) - stand.told_soon);
    // Without savings it is paid for if it fails: it happens once per mirror.
    if (!unasked.empty() && (funded || told_soon.empty()))
      return {funded ? On::budget : On::nothing, unasked};
    if (!told_soon.empty()) return {On::news, told_soon};
  }
  const auto answered = untried.first_of(all - stand.failing);
  return {On::budget, answered.empty() ? untried.first_of(all) : answered};
}

}  // namespace karmad
