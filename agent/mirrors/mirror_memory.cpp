// What a mirror set keeps over a restart of the process.
#include <cassert>

#include "agent/mirrors/mirror_set.hpp"

namespace karmad {

MirrorMemory MirrorSet::memory(std::size_t mirror, TimePoint now) const {
  const auto& of = *mirrors_[mirror];
  MirrorMemory memory{.karma = of.karma(), .signals = of.signals.memory(now)};
  const auto& facts = state_.facts(mirror);
  if (state_[mirror].answers_pings && facts.role != Role::unknown) {
    memory.description = state_[mirror].description;
    memory.trip = facts.rtt.value_or(Micros{});
  }
  of.record->quantiles.add_recent(now, memory.latencies);
  return memory;
}

void MirrorSet::restore(std::span<const MirrorMemory* const> memories, TimePoint now) {
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
  const auto view = one_view();
  for (unsigned worker = 0; worker < slots_.size(); ++worker) show(worker, view);
}

}  // namespace karmad
