// Waits of simulated requests: for a time, for news of their mirrors, for a slot.
#include "balancer/simulate/masters/masters.hpp"

namespace karmad {
namespace {

constexpr Micros kUpkeepPause = std::chrono::milliseconds(100);

/// Lists of waits also have outdated entries; more of them are removed now and then.
constexpr std::size_t kManyWaits = 1024;

}  // namespace

void Masters::begin_wait(std::uint32_t index, const std::optional<action::Wait>& wait) {
  auto& request = requests_[index];
  if (wait && wait->until)
    world_.events.add_at(std::max(*wait->until, world_.now),
                         {.subject = index, .version = request.wait, .kind = EventKind::wait_ends});
  if (wait && wait->news) {
    auto& list = request.set->waiting_for_news;
    if (list.size() >= kManyWaits && list.size() == list.capacity())
      std::erase_if(list, [&](const RequestName& name) {
        return requests_[name.index].wait != name.version;
      });
    list.push_back({index, request.wait});
  }
  if (wait && !wait->slots.empty()) {
    wait_for_slot(index, wait->slots);
  } else if (request.queued_wait) {
    request.queued_wait.reset();
    give_slots(*request.set);
  }
}

void Masters::wait_for_slot(std::uint32_t index, Candidates mirrors) {
  auto& request = requests_[index];
  auto& set = *request.set;
  if (!request.queued_wait) request.queued_wait.emplace(set.mirrors(), 0);
  request.queued_wait->wants(mirrors);
  if (!std::exchange(request.is_listed_for_slot, true))
    set.waiting_for_slot.push_back({index, request.version});
  give_slots(set);
}

/// Finds the requests whose wait for a slot has ended.
void Masters::give_slots(SimulatedSet& set) {
  if (set.waiting_for_slot.empty()) return;
  std::erase_if(set.waiting_for_slot, [&](const RequestName& name) {
    auto& request = requests_[name.index];
    if (request.version != name.version) return true;
    const auto* const waiter = request.queued_wait ? request.queued_wait->waiter() : nullptr;
    if (waiter != nullptr && !waiter->got()) return false;
    request.is_listed_for_slot = false;
    if (waiter != nullptr)
      world_.events.add_at(
          world_.now,
          {.subject = name.index, .version = request.wait, .kind = EventKind::slot_granted});
    return true;
  });
}

void Masters::slot_granted(std::uint32_t index) {
  auto& request = requests_[index];
  if (!request.queued_wait) return;
  auto got = request.queued_wait->take();
  if (!got) return;
  request.set->slots.emplace_back(got->mirror, std::move(got->slot));
  process(index, event::SlotFreed{got->mirror});
}

void Masters::tell_news(SimulatedSet& set) {
  for (const auto& name : set.waiting_for_news)
    if (requests_[name.index].wait == name.version)
      world_.events.add_at(
          world_.now, {.subject = name.index, .version = name.version, .kind = EventKind::news});
  set.waiting_for_news.clear();
}

void Masters::upkeep(std::uint32_t number) {
  auto& master = *masters_[number];
  master.upkeep(world_.now, number == 0 ? &watch_ : nullptr);
  for (const auto& set : master.sets) give_slots(*set);
  world_.events.add_after(world_.now, kUpkeepPause, {.subject = number, .kind = EventKind::upkeep});
}

}  // namespace karmad
