#include "balancer/topology/set_watch.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace karmad {
namespace {

void tell(const Table& table, std::size_t shard, const MirrorSet& set, const SetWatch::Line& line) {
  const auto& agent = *set[line.mirror].agent;
  const auto more =
      line.left_out == 0 ? "" : fmt::format("; {} changes since its last line", line.left_out);
  const auto which = fmt::format("table {}, shard {}: mirror {}", table.name, shard, agent.name);
  if (!line.down)
    return spdlog::log(line.ends_outage ? spdlog::level::warn : spdlog::level::info,
                       "{} is up again, {} of {} mirrors are{}", which, line.left, set.size(),
                       more);
  const auto why = agent.last_error();
  if (line.left == 0)
    return spdlog::error("{} is down, no mirror is left: {:?}{}", which, why, more);
  spdlog::warn("{} is down, {} of {} mirrors are left: {:?}{}", which, line.left, set.size(), why,
               more);
}

}  // namespace

std::size_t SetWatch::logged_up() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(mirrors_, [](const Seen& seen) { return !seen.logged_down; }));
}

std::vector<SetWatch::Line> SetWatch::look(Candidates down, TimePoint now) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    auto& seen = mirrors_[i];
    if (down.contains(i) != seen.down) {
      seen.down = !seen.down;
      ++seen.changes;
    }
    if (seen.down == seen.logged_down) continue;
    if (seen.logged && now - *seen.logged < kLineEvery) continue;
    const bool outage = logged_up() == 0;
    seen.logged_down = seen.down;
    seen.logged = now;
    lines.push_back({.mirror = i,
                     .down = seen.down,
                     .left = logged_up(),
                     .left_out = std::exchange(seen.changes, 0) - 1,
                     .ends_outage = !seen.down && outage});
  }
  return lines;
}

bool is_down(const Agent& agent, std::uint32_t dead_after) {
  const auto errors = agent.counters.errors_in_a_row.load(std::memory_order_relaxed);
  return errors > dead_after || (errors > 1 && agent.counters.unreachable_since(TimePoint{}));
}

SetWatches::Watched& SetWatches::watched(const std::shared_ptr<MirrorSet>& set) {
  auto at = sets_.find(set.get());
  if (at != sets_.end() && at->second.set.lock() == set) return at->second;
  if (at != sets_.end()) sets_.erase(at);
  return sets_.emplace(set.get(), Watched{set, SetWatch(set->size())}).first->second;
}

void SetWatches::look(const Topology& topology, TimePoint now) {
  ++round_;
  std::size_t count = 0;
  for (const auto& table : topology.tables) {
    for (std::size_t s = 0; s < table->shards.size(); ++s) {
      const auto& set = table->shards[s]->mirrors;
      auto& entry = watched(set);
      if (std::exchange(entry.round, round_) == round_) continue;
      ++count;
      Candidates down;
      for (std::size_t i = 0; i < set->size(); ++i)
        if (is_down(*(*set)[i].agent, topology.settings.dead_after.value)) down.insert(i);
      for (const auto& line : entry.watch.look(down, now)) tell(*table, s + 1, *set, line);
    }
  }
  if (sets_.size() > count)
    std::erase_if(sets_, [this](const auto& entry) { return entry.second.round != round_; });
}

}  // namespace karmad
