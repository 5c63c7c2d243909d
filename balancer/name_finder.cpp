#include "balancer/name_finder.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "agent/transport/loop/run_detached.hpp"

namespace karmad {
namespace {

constexpr Micros kAtStart = 500ms;     // longest wait at the start for all names
constexpr Micros kRetryInterval = 1s;  // between two look-ups of a name

void set_unresolved(Agent& agent, const std::string& why) {
  agent.unresolved(why);
  agent.last_error(why);
}

}  // namespace

void look_up_names(const Topology& topology) {
  struct Pending {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t count = 0;
  };
  const auto pending = std::make_shared<Pending>();
  std::vector<std::shared_ptr<Agent>> named;
  std::ranges::copy_if(topology.agents, std::back_inserter(named),
                       [](const auto& agent) { return !agent->endpoints(); });
  pending->count = named.size();
  for (const auto& agent : named)
    run_detached([agent, pending] {
      if (auto found = resolve_now(agent->address)) {
        agent->endpoints(*std::move(found));
      } else {
        set_unresolved(*agent, found.error());
      }
      const std::scoped_lock lock(pending->mutex);
      --pending->count;
      pending->changed.notify_one();
    });
  {
    std::unique_lock lock(pending->mutex);
    pending->changed.wait_for(lock, kAtStart, [&] { return pending->count == 0; });
  }
  for (const auto& agent : named) {
    if (agent->endpoints()) continue;
    if (!agent->unresolved())
      set_unresolved(*agent, fmt::format("the look-up of the name '{}' has no answer yet",
                                         agent->address.host));
    // Dead from the start: strategies that consider errors use it only if no other mirror is left.
    agent->counters.errors_in_a_row = topology.settings.dead_after.value + 1;
    spdlog::warn("agent {}: {}; the look-up is repeated until it succeeds", agent->name,
                 *agent->unresolved());
  }
}

void NameFinder::adopt(const Topology& topology) {
  const auto wanted = [&](const auto& agent) {
    return std::ranges::find(topology.agents, agent) != topology.agents.end();
  };
  for (auto search = searches_.begin(); search != searches_.end();) {
    const auto current = search++;  // it removes itself
    if (!wanted(current->agent)) current->stop.request(StopReason::cancelled);
  }
  for (const auto& agent : topology.agents) {
    if (stopped_ || agent->endpoints()) continue;
    if (std::ranges::find(searches_, agent, &Search::agent) != searches_.end()) continue;
    spawn(find(searches_.emplace(searches_.end(), agent, loop_)));
  }
}

void NameFinder::stop() {
  stopped_ = true;
  while (!searches_.empty()) searches_.front().stop.request(StopReason::cancelled);
}

Task<void> NameFinder::find(Place search) {
  auto& [agent, stop] = *search;
  while (!stop.requested() && !agent->endpoints()) {
    auto found = co_await resolve(loop_, agent->address, stop);
    if (stop.requested()) break;
    if (found) {
      agent->endpoints(*std::move(found));
      agent->counters.errors_in_a_row = 0;
      spdlog::info("agent {}: its name is resolved now", agent->name);
    } else {
      set_unresolved(*agent, found.error());
      co_await sleep(loop_, Loop::now() + kRetryInterval, stop);
    }
  }
  searches_.erase(search);
}

}  // namespace karmad
