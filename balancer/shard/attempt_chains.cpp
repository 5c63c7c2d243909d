#include "balancer/shard/attempt_chains.hpp"

#include <algorithm>
#include <utility>

#include "agent/transport/loop/deadlines.hpp"
#include "balancer/selection/selection.hpp"

namespace karmad {

AttemptChains::AttemptChains(const ShardRules& rules)
    : rules_(rules), retries_(*rules.retry, rules.subject) {
  main_.retries = main_.waits = true;
}

AttemptChain& AttemptChains::add(std::unique_ptr<Line> line) {
  const auto slot = line->slot;
  if (slot > others_.size()) others_.emplace_back();
  return *(others_[slot - 1] = std::move(line));
}

void AttemptChains::select(Line& line) {
  line.state = chain::Asks{};
  if (over_) return end_line(line);
  if (const auto pick = select_now(line)) return send(line, *pick);
  if (line.waits && !line.end.refused) return wait_for_slot(line);
  if (rules_.needed() != nullptr && !line.end.refused)
    log_failure("no other mirror is suitable at once");
  end_line(line);
}

std::optional<Pick> AttemptChains::select_now(Line& line) {
  auto& mirrors = moment_->mirrors;
  const auto longest = rules_.selection_timeout;
  if (!line.selection_left && longest > Micros{0}) line.selection_left = longest;
  if (const auto wanted = std::exchange(line.upcoming.wanted, std::nullopt);
      wanted && mirrors.try_take_slot(*wanted)) {
    Candidates only;
    only.insert(*wanted);
    return Pick{.mirror = *wanted, .suitable = only, .acceptable = only};
  }
  if (const auto* need = rules_.needed(); need != nullptr) {
    log({.what = action::Log::What::selection_started});
    line.end.refused = refusal_of(*need, rules_.any_takes_updates, mirrors.view());
    if (line.end.refused) {
      log_failure(line.end.refused->reason);
      return std::nullopt;
    }
  }
  const auto choice = this->choice(line);
  const bool may_probe = !rules_.subject.follow_up && line.memory.among.empty();
  if (line.upcoming.reason == AttemptReason::initial && may_probe)
    if (auto probed = choice.probe()) return probed;
  return choice.choose(choice.criteria_now());
}

/// Sends the attempt; the slot of the pick is taken.
void AttemptChains::send(Line& line, const Pick& pick) {
  const auto mirror = pick.mirror;
  actions_.emplace_back(action::Send{.slot = line.slot,
                                     .pick = pick,
                                     .connect_timeout = time_to_connect(line, mirror),
                                     .reason = line.upcoming.reason,
                                     .pause = line.upcoming.pause,
                                     .number = line.attempts});
  leave_wait(line);
  line.state = chain::Asks{};
  line.memory.tried.insert(mirror);
  line.end.mirror = mirror;
  line.end.slot = line.slot;
  line.under_way.emplace(moment_->protection.standings, mirror);
  ++line.attempts;
}

/// Limits connecting to what the line's earlier waits and connects have left (SS-111). Keeps half
/// of it for a further mirror if there is one; a minimum is always left.
Micros AttemptChains::time_to_connect(const Line& line, std::size_t mirror) const {
  const auto longest = rules_.connect_timeout;
  if (!line.selection_left || *line.selection_left / 2 >= longest) return longest;
  Candidates chosen;
  chosen.insert(mirror);
  const bool others = line.retries && !(choice(line).untried() - chosen).empty();
  const auto left = others ? *line.selection_left / 2 : *line.selection_left;
  return std::min(longest, std::max(left, Deadlines::kTick));
}

void AttemptChains::end_line(Line& line) {
  leave_wait(line);
  line.retry_permit.reset();
  line.state = chain::Ended{};
}

/// An attempt in progress ends when its end is reported; a wait ends at once.
void AttemptChains::break_off(Line& line, bool lost_race) {
  if (line.ended() || line.cancelled) return;
  line.cancelled = line.is<chain::Asks>();
  if (!line.cancelled) {
    const bool selects = line.is<chain::WaitsForMirror>() || line.is<chain::WaitsForSlot>();
    if (selects && rules_.needed() != nullptr) log_failure("the query is over");
    return end_line(line);
  }
  actions_.emplace_back(action::Cancel{line.slot, lost_race});
}

void AttemptChains::break_off_all() {
  over_ = true;
  break_off(main_);
  for (const auto& other : others_) break_off(*other);
}

bool AttemptChains::all_ended() const {
  return main_.ended() &&
         std::ranges::all_of(others_, [](const auto& other) { return other->ended(); });
}

void AttemptChains::pass_permit_to(Line& line) {
  if (!main_.retry_permit) return;
  line.retry_permit.emplace(*std::move(main_.retry_permit));
  main_.retry_permit.reset();
}

void AttemptChains::learn_from(const Line& line) {
  auto& memory = main_.memory;
  memory.tried = memory.tried | line.memory.tried;
  memory.behind = memory.behind | line.memory.behind;
  for (const auto& mark : line.memory.marked_unreachable)
    if (!std::ranges::count(memory.marked_unreachable, mark))
      memory.marked_unreachable.push_back(mark);
}

void AttemptChains::take_over(const Line& line) {
  const bool timed_out = main_.end.timed_out || line.end.timed_out;
  const bool plan_again = main_.end.plan_again || line.end.plan_again;
  const auto selection_left = main_.end.selection_left;
  main_.end = line.end;
  main_.end.timed_out = timed_out;
  main_.end.plan_again = plan_again;
  main_.end.selection_left = selection_left;
  main_.end.refused.reset();
}

// ---- waits: for a suitable mirror, a slot, news of standings, the end of a pause

/// Called after news, or when the time of a wait has come.
void AttemptChains::proceed_waits(bool news) {
  const auto proceed_line = [&](Line& line) {  // each step may replace the state that it was in
    const auto is_due = [&](TimePoint until) { return now() >= until; };
    if (const auto* mirror = std::get_if<chain::WaitsForMirror>(&line.state)) {
      if (news || is_due(mirror->until)) select_again(line);
    } else if (line.is<chain::WaitsForSlot>()) {
      if (news || is_due(rules_.deadline)) select_for_slot(line);
    } else if (const auto* health = std::get_if<chain::WaitsForHealth>(&line.state)) {
      if (news || is_due(health->until)) ask_elsewhere(line);
    } else if (const auto* pause = std::get_if<chain::Pauses>(&line.state)) {
      if (is_due(pause->until)) make_retry(line);
    }
  };
  proceed_line(main_);
  for (std::size_t i = 0; i < others_.size(); ++i) proceed_line(*others_[i]);
}

/// If all suitable mirrors are full, waits for a slot.
void AttemptChains::wait_for_slot(Line& line) {
  const auto full = choice(line).all_full();
  if (full.empty()) return wait_for_mirror(line);
  auto& queue = moment_->mirrors.wait_queue();
  const auto most = moment_->mirrors.longest_queue();
  Waiting counted(queue.waiting);
  if (counted.before() >= most) return refuse_slot(line, all_mirrors_full(most));
  count(Count::slots_waited);
  queue.waited.fetch_add(1, std::memory_order_relaxed);
  auto for_mirror = leave_wait(line);
  line.state = chain::WaitsForSlot{.counted = std::move(counted),
                                   .for_mirror = std::move(for_mirror),
                                   .since = now(),
                                   .slots = full};
  if (now() >= rules_.deadline) refuse_slot(line, no_slot_in_time());
}

void AttemptChains::refuse_slot(Line& line, Refusal refusal) {
  count(Count::slots_refused);
  moment_->mirrors.wait_queue().refused.fetch_add(1, std::memory_order_relaxed);
  line.end.refused = std::move(refusal);
  give_up_selection(line);
}

void AttemptChains::select_for_slot(Line& line) {
  auto& slots = std::get<chain::WaitsForSlot>(line.state).slots;
  slots = choice(line).suitable_if_free();
  if (slots.empty()) return wait_for_mirror(line);
  if (now() >= rules_.deadline) refuse_slot(line, no_slot_in_time());
}

void AttemptChains::slot_freed(std::size_t mirror) {
  for (std::size_t slot = 0; slot <= others_.size(); ++slot) {
    auto& line = this->line(slot);
    if (!line.is<chain::WaitsForSlot>()) continue;
    const auto from = choice(line).suitable_if_free();
    if (!from.contains(mirror)) return select_for_slot(line);
    return send(line, {.mirror = mirror, .suitable = from, .acceptable = from});
  }
}

/// The chain waits no more for a slot, whose duration is counted, or for a mirror: that wait is
/// returned, for a chain that goes on with it.
std::optional<Waiting> AttemptChains::leave_wait(Line& line) {
  std::optional<Waiting> for_mirror;
  if (auto* const mirror = std::get_if<chain::WaitsForMirror>(&line.state)) {
    for_mirror = std::move(mirror->counted);
  } else if (auto* const slot = std::get_if<chain::WaitsForSlot>(&line.state)) {
    const auto waited = std::chrono::duration_cast<Micros>(now() - slot->since).count();
    const auto micros = static_cast<std::uint64_t>(std::max<Micros::rep>(0, waited));
    moment_->counters.add(Count::slots_wait_us, micros);
    moment_->mirrors.wait_queue().micros.fetch_add(micros, std::memory_order_relaxed);
    for_mirror = std::move(slot->for_mirror);
    line.state = chain::Asks{};
  }
  return for_mirror;
}

TimePoint AttemptChains::selection_end(const Line& line) const {
  return std::min(rules_.deadline, now() + line.selection_left.value_or(Micros{0}));
}

/// Waits until a mirror is suitable (SS-112, SS-128).
void AttemptChains::wait_for_mirror(Line& line) {
  auto counted = leave_wait(line);
  if (auto why = moment_->mirrors.absent()) {
    line.end.refused = no_mirror_found(*std::move(why));
    return give_up_selection(line);
  }
  if (choice(line).all_out_of_service()) {
    line.end.refused = all_out_of_service();
    return give_up_selection(line);
  }
  if (counted) return wait_for_change(line, *std::move(counted));
  auto& mirrors = moment_->mirrors;
  if (selection_end(line) <= now() || !mirrors.pinged()) return give_up_selection(line);
  counted.emplace(*rules_.waiting_selections);
  if (counted->before() >= rules_.max_waiting_selections) {
    line.end.refused = too_many_waiting(rules_.max_waiting_selections);
    count(Count::selections_refused);
    return give_up_selection(line);
  }
  count(Count::selections_waited);
  log({.what = action::Log::What::selection_waits,
       .remaining = std::chrono::duration_cast<Micros>(selection_end(line) - now())});
  wait_for_change(line, *std::move(counted));
}

void AttemptChains::wait_for_change(Line& line, Waiting counted) {
  const auto end = selection_end(line);
  if (end <= now() || moment_->mirrors.closed()) return give_up_selection(line);
  actions_.emplace_back(action::CheckMirrors{});
  line.state = chain::WaitsForMirror{
      .counted = std::move(counted), .since = now(), .until = std::min(end, now() + kRecheck)};
}

void AttemptChains::select_again(Line& line) {
  const auto since = std::get<chain::WaitsForMirror>(line.state).since;
  *line.selection_left -= std::chrono::duration_cast<Micros>(now() - since);
  if (const auto* need = rules_.needed())
    line.end.refused = refusal_of(*need, rules_.any_takes_updates, moment_->mirrors.view());
  if (line.end.refused) return give_up_selection(line);
  const auto choice = this->choice(line);
  if (const auto pick = choice.choose(choice.criteria_now())) return send(line, *pick);
  wait_for_slot(line);
}

/// No suitable mirror in time: sets the refusal and ends the line.
void AttemptChains::give_up_selection(Line& line) {
  auto& mirrors = moment_->mirrors;
  auto& refused = line.end.refused;
  if (!refused && mirrors.closed()) {
    refused = configuration_changed();
    // What waits here can be sent: the query goes on with the mirrors of the new configuration, and
    // waits for them as long as it would have waited for these.
    const bool has_time = !line.selection_left || selection_end(line) > now();
    if (has_time && now() < rules_.deadline) {
      line.end.plan_again = main_.end.plan_again = true;
      main_.end.selection_left = line.selection_left;
    }
  }
  if (!refused) {
    refused = nothing_suitable(*rules_.need, mirrors);
    count(Count::selections_failed);
  }
  log_failure(refused->reason);
  // Earlier failures are more informative than the lack of a further mirror (BP-063).
  if (line.attempts > 0) refused.reset();
  end_line(line);
}

/// Adds the earliest of all waits of the lines.
void AttemptChains::add_waits(action::Wait& wait) const {
  const auto add = [&](const Line& line) {
    if (const auto* mirror = std::get_if<chain::WaitsForMirror>(&line.state)) {
      wait.end_by(mirror->until);
    } else if (const auto* slot = std::get_if<chain::WaitsForSlot>(&line.state)) {
      wait.end_by(rules_.deadline);
      wait.slots = slot->slots;
    } else if (const auto* health = std::get_if<chain::WaitsForHealth>(&line.state)) {
      wait.end_by(health->until);
    } else {
      if (const auto* pause = std::get_if<chain::Pauses>(&line.state)) wait.end_by(pause->until);
      return;
    }
    wait.news = true;
  };
  add(main_);
  for (const auto& other : others_) add(*other);
}

}  // namespace karmad
