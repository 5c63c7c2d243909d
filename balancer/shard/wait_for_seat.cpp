#include "balancer/shard/wait_for_seat.hpp"

#include "agent/mirrors/in_line.hpp"
#include "balancer/shard/waiting.hpp"

namespace karmad {
namespace {

/// The mirrors that could be selected, each by itself, if they had a seat.
Candidates suiting(const Query& query, const ShardOrder& order, const ShardPart& part) {
  const auto& set = *part.shard->mirrors;
  auto asked = question_of(query, order, part);
  const auto all = Candidates::first(set.size());
  const auto possible = all - asked.excluded;
  Candidates suiting;
  for (const auto mirror : possible) {
    Candidates alone;
    alone.insert(mirror);
    asked.excluded = all - alone;
    if (set.counts(asked, query.worker.loop.index).second > 0) suiting.insert(mirror);
  }
  return suiting;
}

bool any_limit(const MirrorSet& set) {
  for (std::size_t i = 0; i < set.size(); ++i)
    if (set[i].agent->seats.limited()) return true;
  return false;
}

/// Counts how long it waited, when it has.
class Timed {
 public:
  Timed(Worker& worker, SeatLine& line) : worker_(worker), line_(line) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() {
    const auto waited = std::chrono::duration_cast<Micros>(Loop::now() - began_).count();
    const auto micros = static_cast<std::uint64_t>(std::max<Micros::rep>(0, waited));
    worker_.counters.add(Count::seats_wait_us, micros);
    line_.micros.fetch_add(micros, std::memory_order_relaxed);
  }

 private:
  Worker& worker_;
  SeatLine& line_;
  const TimePoint began_ = Loop::now();
};

void refuse(Query& query, ShardPart& part, Refusal refusal) {
  query.worker.counters.add(Count::seats_refused);
  part.shard->mirrors->line().refused.fetch_add(1, std::memory_order_relaxed);
  part.refused = std::move(refusal);
}

}  // namespace

Candidates all_full(const Query& query, const ShardOrder& order, const ShardPart& part) {
  // Asked when nothing was selected: what suits was full then, even if it is not any more.
  return any_limit(*part.shard->mirrors) ? suiting(query, order, part) : Candidates();
}

Task<std::optional<Selected>> wait_for_seat(Query& query, const ShardOrder& order,
                                            ShardPart& part) {
  auto& worker = query.worker;
  auto& set = *part.shard->mirrors;
  auto& line = set.line();
  std::optional<Selected> selected;
  const Waiting waiting(line.waiting);
  const auto most = set.longest_line(query.topology->settings.max_in_flight_queue.value);
  if (waiting.before() >= most) {
    refuse(query, part, all_mirrors_full(most));
    co_return selected;
  }
  worker.counters.add(Count::seats_waited);
  line.waited.fetch_add(1, std::memory_order_relaxed);
  const Timed timed(worker, line);
  InLine in_line(set, worker.loop.index);
  while (!part.over(query)) {
    const auto wanted = suiting(query, order, part);
    if (wanted.empty()) break;
    in_line.wants(wanted);
    PartStop stop(query, part);
    co_await set.news(worker.loop, query.deadline, stop, in_line.claim());
    if (part.over(query)) break;
    if (in_line.claim()->got()) {
      auto got = in_line.take();
      if (suiting(query, order, part).contains(got->mirror)) {
        selected.emplace(got->mirror, time_to_connect(query, order, part, got->mirror),
                         std::move(got->seat));
        break;
      }
    } else if (Loop::now() >= query.deadline) {
      refuse(query, part, no_seat_in_time());
      break;
    }
  }
  co_return selected;
}

}  // namespace karmad
