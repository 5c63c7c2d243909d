#include "balancer/shard/select_mirror.hpp"

#include <array>

#include "agent/mirrors/ping.hpp"
#include "balancer/rules/zones.hpp"
#include "balancer/shard/selection_log.hpp"

namespace karmad {
namespace {

/// Mirrors that are known to have seen less than the client has, or, where a quorum is asked for,
/// less than another mirror has (CO-077). They are avoided, not left out: what is known is as old
/// as the last ping or answer, and a mirror says itself when it is behind.
Candidates too_old(const Query& query, const ShardOrder& order, const ShardPart& part,
                   const SetView& view) {
  Candidates old = part.behind;
  if (order.selection.need().operation == Operation::write) return old;
  const auto& marks = part.shard->protection->behind;
  if (by_quorum(query, order)) old = old | marks.behind_others(view, Loop::now());
  if (!query.min_generation) return old;
  old = old | marks.behind(view, *query.min_generation, Loop::now());
  for (std::size_t i = 0; i < view.mirrors.size(); ++i) {
    const auto& generation = view.mirrors[i].told.generation;
    if (generation && *generation < *query.min_generation &&
        view.picture.mirrors[i].role != Role::primary)
      old.insert(i);
  }
  return old;
}

Candidates only(std::size_t mirror) {
  Candidates one;
  one.insert(mirror);
  return one;
}

/// The primary is asked last, once a mirror of this query was behind (CO-077).
Candidates asked_last(const ShardPart& part, const SetView& view) {
  Candidates last;
  if (!part.behind.empty() && view.primary) last.insert(*view.primary);
  return last;
}

/// A mirror by the strategy's shares and not by its turn: where only some come into question, the
/// order of `roundrobin` would go on behind them, and never come to those it passed over.
std::optional<std::size_t> out_of_turn(const MirrorSet& set, const Question& question, Loop& loop) {
  const auto shares = set.shares(question, loop.index);
  auto drawn = loop.random.uniform();
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < shares.size() && (!chosen || drawn >= 0); ++i) {
    if (shares[i] <= 0) continue;
    chosen = i;
    drawn -= shares[i];
  }
  return chosen;
}

/// Those that refused the last attempt's connection, and have answered no query since (SD-022
/// leaves their state as it is). Left out while others suit: a query or a ping probes them.
Candidates unreachable(const ShardPart& part) {
  const auto& standings = part.shard->protection->standings;
  if (!standings.any_unreachable()) return {};
  const auto& set = *part.shard->mirrors;
  return standings.unreachable().where([&](std::size_t i) {
    return i < set.size() &&
           set[i].agent->vitals.errors_in_a_row.load(std::memory_order_relaxed) != 0;
  });
}

/// How often a query probes a mirror that could not be reached: pings do it better, where they are
/// made and understood.
Micros probe_every(const Query& query, const Shard& shard) {
  if (shard.pings.kind == nullptr) return 1s;
  return 10 * query.topology->settings.ha_ping_interval.value;
}

/// A mirror that is tripped or could not be reached, if it is due for a probe: this request, the
/// first attempt of its part, is sent there, if the mirror suits (CO-092).
std::optional<Selected> mirror_to_probe(Query& query, const ShardOrder& order,
                                        const ShardPart& part) {
  if (part.reason != AttemptReason::initial || order.parsed.follow_up) return std::nullopt;
  auto& protection = *part.shard->protection;
  auto& breaker = protection.breaker;
  std::optional<std::size_t> due;
  if (breaker && order.parsed.read) due = breaker->try_probe(Loop::now());
  if (!due && protection.standings.any_unreachable())
    due = protection.standings.try_probe(unreachable(part), Loop::now(),
                                         probe_every(query, *part.shard));
  if (!due) return std::nullopt;
  const auto& set = *part.shard->mirrors;
  auto question = question_now(query, order, part);
  Candidates probed;
  probed.insert(*due);
  question.excluded = question.excluded | (Candidates::first(set.size()) - probed);
  return seated(query, order, part, std::move(question));
}

/// The mirror that a rule named for this attempt, unless it is full.
std::optional<Selected> mirror_wanted(const Query& query, const ShardOrder& order,
                                      ShardPart& part) {
  const auto wanted = std::exchange(part.wanted, std::nullopt);
  if (!wanted) return std::nullopt;
  auto seat = (*part.shard->mirrors)[*wanted].agent->seats.try_take();
  if (!seat) return std::nullopt;
  return Selected{*wanted, time_to_connect(query, order, part, *wanted), *std::move(seat)};
}

}  // namespace

std::optional<Selected> seated(Query& query, const ShardOrder& order, const ShardPart& part,
                               Question&& question) {
  const auto& set = *part.shard->mirrors;
  for (;;) {
    auto& loop = query.worker.loop;
    const auto chosen = part.among.empty() ? set.pick(question, loop.index, loop.random)
                                           : out_of_turn(set, question, loop);
    if (!chosen) return std::nullopt;
    if (auto seat = set[*chosen].agent->seats.try_take())
      return Selected{*chosen, time_to_connect(query, order, part, *chosen), *std::move(seat)};
    question.excluded.insert(*chosen);
  }
}

/// What waiting for mirrors and connecting to others have left over bounds connecting (SS-111).
/// Half of it is kept for a further mirror while there is one; a moment is always left.
Micros time_to_connect(const Query& query, const ShardOrder& order, const ShardPart& part,
                       std::size_t chosen) {
  const auto longest = order.table.connect_timeout;
  if (!part.selection_left || *part.selection_left / 2 >= longest) return longest;
  const bool others = part.retries && has_untried(query, order, part, chosen);
  const auto left = others ? *part.selection_left / 2 : *part.selection_left;
  return std::min(longest, std::max(left, Deadlines::kTick));
}

Question question_of(const Query& query, const ShardOrder& order, const ShardPart& part) {
  const auto& shard = *part.shard;
  const auto& view = *shard.mirrors->view(query.worker.loop.index);
  auto excluded = part.excluded;
  for (const auto& [mirror, at] : part.gone)
    if (view.picture.mirrors[mirror].updated <= at) excluded.insert(mirror);
  auto last = too_old(query, order, part, view) | view.unreachable;
  const auto& protection = *shard.protection;
  if (protection.unavailable.any() || protection.breaker) {
    const auto now = Loop::now();
    last =
        last | protection.unavailable.marked(
                   view.picture, shard.pings.kind != nullptr && shard.pings.kind->describes, now);
    if (protection.breaker) last = last | protection.breaker->tripped(now);
  }
  const auto all = Candidates::first(view.mirrors.size()) - excluded;
  const auto others = part.among.empty() ? Candidates{} : all - part.among;
  const std::array reasons{part.avoided, others,    unreachable(part),
                           last,         part.left, asked_last(part, view)};
  const auto avoided = avoided_for(order.selection.at(shard), view.picture, all, reasons);
  return order.selection.question(shard, avoided, excluded);
}

Question question_now(const Query& query, const ShardOrder& order, const ShardPart& part) {
  auto question = question_of(query, order, part);
  question.excluded = question.excluded | part.shard->mirrors->full();
  return question;
}

Candidates untried(const Query& query, const ShardOrder& order, const ShardPart& part) {
  const auto& set = *part.shard->mirrors;
  const auto asked = question_now(query, order, part);
  auto others = Candidates::first(set.size()) - part.tried - asked.excluded;
  if (asked.need != nullptr)
    others = suitable_for(*asked.need, set.view(query.worker.loop.index)->picture, others);
  return others;
}

bool has_untried(const Query& query, const ShardOrder& order, const ShardPart& part,
                 std::optional<std::size_t> but) {
  auto others = untried(query, order, part);
  if (but) others = others - only(*but);
  return !others.empty();
}

bool has_up_to_date(const Query& query, const ShardOrder& order, const ShardPart& part) {
  const auto& set = *part.shard->mirrors;
  const auto& view = *set.view(query.worker.loop.index);
  const auto asked = question_now(query, order, part);
  auto suitable = Candidates::first(set.size()) - asked.excluded;
  if (asked.need != nullptr) suitable = suitable_for(*asked.need, view.picture, suitable);
  return !(suitable - part.tried - too_old(query, order, part, view)).empty();
}

bool has_other_zone(const Query& query, const ShardOrder& order, const ShardPart& part) {
  const auto& set = *part.shard->mirrors;
  const auto& picture = set.view(query.worker.loop.index)->picture;
  const auto asked = question_now(query, order, part);
  auto others = Candidates::first(set.size()) - part.tried - part.left - asked.excluded;
  others = others - asked.avoided;
  std::size_t last = 0;
  while (last < set.size() && &set[last] != part.mirror) ++last;
  if (last == set.size() || zone_of(picture, last).empty()) return false;
  others = (others - zone_mates(picture, last)).where([&](std::size_t i) {
    return !zone_of(picture, i).empty();
  });
  if (others.empty() || asked.need == nullptr) return !others.empty();
  return !suitable_for(*asked.need, picture, others).empty();
}

std::optional<Selected> select_now(Query& query, const ShardOrder& order, ShardPart& part) {
  auto& worker = query.worker;
  const auto& set = *part.shard->mirrors;
  const auto longest = query.topology->settings.selection_timeout.value;
  if (!part.selection_left && longest > Micros{0}) part.selection_left = longest;
  if (auto wanted = mirror_wanted(query, order, part)) return wanted;
  if (order.selection.at(*part.shard) != nullptr) {
    const auto& log = *worker.process.selection_log;
    const SelectionLog::About about{query, order.selection, *part.shard};
    log.started(about);
    part.refused = refusal_of(order.selection, *part.shard, *set.view(worker.loop.index));
    if (part.refused) {
      log.failed(about, part.refused->reason);
      return std::nullopt;
    }
  }
  if (auto probed = mirror_to_probe(query, order, part)) return probed;
  return seated(query, order, part, question_now(query, order, part));
}

}  // namespace karmad
