// Waits of a shard request: for a suitable mirror, a slot, news of standings, the end of a pause.
#include <algorithm>

#include "balancer/selection/selection.hpp"
#include "balancer/shard/attempt_lines.hpp"

namespace karmad {

/// Called after news, or when the time of a wait has come.
void AttemptLines::proceed_waits(bool news) {
  const auto proceed_line = [&](Line& line) {
    const bool due = now() >= line.until;
    switch (line.state) {
      case State::waits_for_mirror:
        if (news || due) select_again(line);
        break;
      case State::waits_for_slot:
        if (news || due) select_for_slot(line);
        break;
      case State::waits_for_standing:
        if (news || due) ask_elsewhere(line);
        break;
      case State::pauses:
        if (due) make_retry(line);
        break;
      default:
        break;
    }
  };
  proceed_line(main_);
  for (std::size_t i = 0; i < others_.size(); ++i) proceed_line(*others_[i]);
}

/// If all suitable mirrors are full, waits for a slot.
void AttemptLines::wait_for_slot(Line& line) {
  const auto full = choice(line).all_full();
  if (full.empty()) return wait_for_mirror(line);
  auto& queue = moment_->mirrors.wait_queue();
  const auto most = moment_->mirrors.longest_queue();
  line.slot_wait.emplace(queue.waiting);
  line.slot_wait_began = now();
  if (line.slot_wait->before() >= most) {
    line.slot_wait.reset();
    return refuse_slot(line, all_mirrors_full(most));
  }
  count(Count::slots_waited);
  queue.waited.fetch_add(1, std::memory_order_relaxed);
  line.slots = full;
  line.until = rules_.deadline;
  line.state = State::waits_for_slot;
  if (now() >= rules_.deadline) refuse_slot(line, no_slot_in_time());
}

void AttemptLines::refuse_slot(Line& line, Refusal refusal) {
  end_slot_wait(line);
  count(Count::slots_refused);
  moment_->mirrors.wait_queue().refused.fetch_add(1, std::memory_order_relaxed);
  line.end.refused = std::move(refusal);
  give_up_selection(line);
}

void AttemptLines::select_for_slot(Line& line) {
  line.slots = choice(line).suitable_if_free();
  if (line.slots.empty()) {
    end_slot_wait(line);
    return wait_for_mirror(line);
  }
  if (now() >= rules_.deadline) refuse_slot(line, no_slot_in_time());
}

void AttemptLines::slot_freed(std::size_t mirror) {
  for (std::size_t slot = 0; slot <= others_.size(); ++slot) {
    auto& line = this->line(slot);
    if (line.state != State::waits_for_slot) continue;
    line.slots = choice(line).suitable_if_free();
    if (!line.slots.contains(mirror)) return select_for_slot(line);
    const auto from = line.slots;
    end_slot_wait(line);
    line.selection_wait.reset();
    return send(line, {.mirror = mirror, .suitable = from, .acceptable = from});
  }
}

/// Ends the wait and counts its duration.
void AttemptLines::end_slot_wait(Line& line) {
  if (!line.slot_wait) return;
  const auto waited = std::chrono::duration_cast<Micros>(now() - line.slot_wait_began).count();
  const auto micros = static_cast<std::uint64_t>(std::max<Micros::rep>(0, waited));
  moment_->counters.add(Count::slots_wait_us, micros);
  moment_->mirrors.wait_queue().micros.fetch_add(micros, std::memory_order_relaxed);
  line.slot_wait.reset();
  line.state = State::asks;
}

TimePoint AttemptLines::selection_end(const Line& line) const {
  return std::min(rules_.deadline, now() + line.selection_left.value_or(Micros{0}));
}

/// Waits until a mirror is suitable (SS-112, SS-128).
void AttemptLines::wait_for_mirror(Line& line) {
  if (auto why = moment_->mirrors.absent()) {
    line.end.refused = no_mirror_found(*std::move(why));
    return give_up_selection(line);
  }
  if (choice(line).all_out_of_service()) {
    line.end.refused = all_out_of_service();
    return give_up_selection(line);
  }
  if (line.selection_wait) return wait_for_change(line);  // it waited for a slot meanwhile
  auto& mirrors = moment_->mirrors;
  if (selection_end(line) <= now() || !mirrors.pinged()) return give_up_selection(line);
  line.selection_wait.emplace(*rules_.waiting_selections);
  if (line.selection_wait->before() >= rules_.max_waiting_selections) {
    line.end.refused = too_many_waiting(rules_.max_waiting_selections);
    count(Count::selections_refused);
    return give_up_selection(line);
  }
  count(Count::selections_waited);
  mirrors.selection_waits(std::chrono::duration_cast<Micros>(selection_end(line) - now()));
  wait_for_change(line);
}

void AttemptLines::wait_for_change(Line& line) {
  const auto end = selection_end(line);
  if (end <= now() || moment_->mirrors.closed()) return give_up_selection(line);
  actions_.emplace_back(action::CheckMirrors{});
  line.state = State::waits_for_mirror;
  line.since = now();
  line.until = std::min(end, now() + kRecheck);
}

void AttemptLines::select_again(Line& line) {
  *line.selection_left -= std::chrono::duration_cast<Micros>(now() - line.since);
  if (const auto* need = rules_.needed())
    line.end.refused = refusal_of(*need, rules_.any_takes_updates, moment_->mirrors.view());
  if (line.end.refused) return give_up_selection(line);
  const auto choice = this->choice(line);
  if (const auto pick = choice.choose(choice.criteria_now())) {
    line.selection_wait.reset();
    return send(line, *pick);
  }
  wait_for_slot(line);
}

/// No suitable mirror in time: sets the refusal and ends the line.
void AttemptLines::give_up_selection(Line& line) {
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
  mirrors.selection_failed(refused->reason);
  // Earlier failures are more informative than the lack of a further mirror (BP-063).
  if (line.attempts > 0) refused.reset();
  end_line(line);
}

/// Adds the earliest of all waits of the lines.
void AttemptLines::add_waits(action::Wait& wait) const {
  const auto add = [&](const Line& line) {
    if (line.ended() || line.state == State::asks) return;
    wait.end_by(line.until);
    wait.news = wait.news || line.state != State::pauses;
    if (line.state == State::waits_for_slot) wait.slots = line.slots;
  };
  add(main_);
  for (const auto& other : others_) add(*other);
}

}  // namespace karmad
