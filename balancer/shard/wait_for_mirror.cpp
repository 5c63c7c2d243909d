#include "balancer/shard/wait_for_mirror.hpp"

#include "balancer/shard/selection_log.hpp"
#include "balancer/shard/wait_for_seat.hpp"
#include "balancer/shard/waiting.hpp"

namespace karmad {

Task<std::optional<Selected>> wait_for_mirror(Query& query, const ShardOrder& order,
                                              ShardPart& part) {
  auto& worker = query.worker;
  const auto& settings = query.topology->settings;
  auto& set = *part.shard->mirrors;
  const SelectionLog::About about{query, order.selection, *part.shard};
  const auto& log = *worker.process.selection_log;
  std::optional<Selected> selected;
  set.look_at_limits();  // a reload may just have limited its agents
  if (!all_full(query, order, part).empty()) selected = co_await wait_for_seat(query, order, part);
  auto& left = part.selection_left;
  const auto until = [&](TimePoint now) {
    return std::min(query.deadline, now + left.value_or(Micros{0}));
  };
  if (!selected && !part.refused && until(Loop::now()) > Loop::now() && set.pinged()) {
    const Waiting waiting(worker.process.waiting_selections);
    if (waiting.before() >= settings.max_waiting_selections.value) {
      part.refused = too_many_waiting(settings.max_waiting_selections.value);
      worker.counters.add(Count::selections_refused);
    } else {
      worker.counters.add(Count::selections_waited);
      const auto now = Loop::now();
      log.waiting(about, std::chrono::duration_cast<Micros>(until(now) - now));
    }
    while (!part.refused && !selected && !part.over(query)) {
      const auto now = Loop::now();
      if (until(now) <= now || set.closed(worker.loop.index)) break;
      set.check_now();
      PartStop stop(query, part);
      co_await set.news(worker.loop, std::min(until(now), now + kRecheck), stop);
      *left -= std::chrono::duration_cast<Micros>(Loop::now() - now);
      if (part.over(query)) break;
      part.refused = refusal_of(order.selection, *part.shard, *set.view(worker.loop.index));
      if (part.refused) break;
      selected = seated(query, order, part, question_now(query, order, part));
      if (!selected && !all_full(query, order, part).empty())
        selected = co_await wait_for_seat(query, order, part);
    }
  }
  if (selected || part.over(query)) co_return selected;
  if (!part.refused && set.closed(worker.loop.index)) part.refused = configuration_changed();
  if (!part.refused) {
    part.refused = nothing_suitable(order.selection, *part.shard, *set.view(worker.loop.index));
    worker.counters.add(Count::selections_failed);
  }
  log.failed(about, part.refused->reason);
  // What failed before says more than that there was nothing else to try (BP-063).
  if (!part.failed.empty()) part.refused.reset();
  co_return selected;
}

}  // namespace karmad
