#include "balancer/rules/breaker.hpp"

namespace karmad {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::int64_t micros(TimePoint now) {
  return now.time_since_epoch().count();
}

/// Checked first: writing a cache line that all workers read is more expensive.
void restart(std::atomic<std::uint32_t>& count) {
  if (count.load(kRelaxed) != 0) count.store(0, kRelaxed);
}

}  // namespace

void Breaker::take_over(const Breaker& before, const FormerPlaces& places) noexcept {
  for_each_former(places, [&](std::size_t now, std::size_t then) {
    const auto& old = before.cells_[then];
    for (std::size_t i = 0; i < old.failures.size(); ++i) {
      cells_[now].failures[i].count = old.failures[i].count.load(kRelaxed);
      cells_[now].failures[i].last = old.failures[i].last.load(kRelaxed);
    }
    cells_[now].next_probe = old.next_probe.load(kRelaxed);
  });
}

Breaker::Memories Breaker::memory(std::size_t mirror, TimePoint now) const noexcept {
  Memories memories;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const auto& failures = cells_[mirror].failures[i];
    const auto count = failures.count.load(kRelaxed);
    if (count != 0) memories[i] = {count, Micros{micros(now) - failures.last.load(kRelaxed)}};
  }
  return memories;
}

void Breaker::restore(std::size_t mirror, const Memories& memories, TimePoint now) noexcept {
  auto& cell = cells_[mirror];
  for (std::size_t i = 0; i < memories.size(); ++i) {
    cell.failures[i].count.store(memories[i].count, kRelaxed);
    cell.failures[i].last.store(micros(now - memories[i].since_last), kRelaxed);
  }
  cell.next_probe.store(micros(now + rules_.probe_every), kRelaxed);
}

bool Breaker::is_tripped(const Cell& cell, Operation operation, std::int64_t now) const noexcept {
  const auto& failures = cell.failures[static_cast<std::size_t>(operation)];
  return failures.count.load(kRelaxed) > tolerated(operation) &&
         now - failures.last.load(kRelaxed) <= rules_.window.count();
}

bool Breaker::is_tripped(const Cell& cell, std::int64_t now) const noexcept {
  return is_tripped(cell, Operation::read, now) || is_tripped(cell, Operation::write, now);
}

bool Breaker::is_tripped(std::size_t mirror, TimePoint now) const noexcept {
  return is_tripped(cells_[mirror], micros(now));
}

void Breaker::failed(std::size_t mirror, Operation operation, TimePoint at) noexcept {
  auto& cell = cells_[mirror];
  auto& failures = cell.failures[static_cast<std::size_t>(operation)];
  const auto now = micros(at);
  const bool was_tripped = is_tripped(cell, now);
  const auto since = now - failures.last.exchange(now, kRelaxed);
  const auto count = failures.count.load(kRelaxed);
  if (count != 0 && since > rules_.window.count())
    failures.count.store(1, kRelaxed);
  else if (count <= tolerated(operation))  // a higher count has no meaning; so it never overflows
    failures.count.fetch_add(1, kRelaxed);
  if (!was_tripped && is_tripped(cell, now))
    cell.next_probe.store(now + rules_.probe_every.count(), kRelaxed);
}

void Breaker::succeeded(std::size_t mirror, Operation operation, TimePoint now) noexcept {
  auto& cell = cells_[mirror];
  if (is_tripped(cell, micros(now)))
    for (auto& failures : cell.failures) restart(failures.count);
  else
    restart(cell.failures[static_cast<std::size_t>(operation)].count);
}

void Breaker::ended(std::size_t mirror, Operation operation, Outcome outcome,
                    TimePoint now) noexcept {
  const auto leads_to = consequence(outcome);
  if (leads_to.error) failed(mirror, operation, now);
  if (leads_to.success) succeeded(mirror, operation, now);
}

Candidates Breaker::tripped(TimePoint now) const noexcept {
  const auto all = Candidates::first(cells_.size());
  const auto is = [&](std::size_t mirror) { return is_tripped(mirror, now); };
  return but_never_all(all.where(is), all);
}

std::optional<std::size_t> Breaker::try_probe(TimePoint at) noexcept {
  const auto now = micros(at);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    auto& cell = cells_[i];
    if (!is_tripped(cell, now)) continue;
    auto due = cell.next_probe.load(kRelaxed);
    if (now >= due &&
        cell.next_probe.compare_exchange_strong(due, now + rules_.probe_every.count(), kRelaxed))
      return i;
  }
  return std::nullopt;
}

}  // namespace karmad
