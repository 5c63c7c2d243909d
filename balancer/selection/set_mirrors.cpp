#include "balancer/selection/set_mirrors.hpp"

#include <algorithm>
#include <cassert>

#include "balancer/rules/hedge_plan.hpp"

namespace karmad {

Candidates SetMirrors::failing() const {
  return Candidates::first(set_.size()).where([this](std::size_t i) {
    return set_[i].agent->counters.errors_in_a_row.load(std::memory_order_relaxed) != 0;
  });
}

std::string SetMirrors::shown_error(std::size_t mirror, std::string_view error) const {
  std::string shown(error);
  if (!hides_mirrors()) return shown;
  const auto& address = set_[mirror].agent->address;
  const auto& hidden = address.is_unix() ? address.unix_path : address.host;
  for (auto at = shown.find(hidden); !hidden.empty() && at != shown.npos;
       at = shown.find(hidden, at))
    shown.replace(at, hidden.size(), "…");
  return shown;
}

bool SetMirrors::limited() const {
  set_.read_limits();  // a reload may have set limits meanwhile
  for (std::size_t i = 0; i < set_.size(); ++i)
    if (set_[i].agent->slots.limited()) return true;
  return false;
}

bool SetMirrors::try_take_slot(std::size_t mirror) {
  auto slot = set_[mirror].agent->slots.try_take();
  if (!slot) return false;
  add_slot(mirror, *std::move(slot));
  return true;
}

AgentSlot SetMirrors::use_slot(std::size_t mirror) {
  const auto taken =
      std::ranges::find(taken_slots_, mirror, &std::pair<std::size_t, AgentSlot>::first);
  assert(taken != taken_slots_.end());
  auto slot = std::move(taken->second);
  taken_slots_.erase(taken);
  return slot;
}

bool SetMirrors::return_slots() {
  const bool any = !taken_slots_.empty();
  taken_slots_.clear();
  return any;
}

bool SetMirrors::loaded_for_hedging() const {
  const auto load = set_.load();
  return overloaded_for_hedging(load.median, load.usual, settings_.hedge_max_load_percent.value);
}

}  // namespace karmad
