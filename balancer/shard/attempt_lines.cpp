#include "balancer/shard/attempt_lines.hpp"

#include <algorithm>
#include <utility>

#include "agent/transport/loop/deadlines.hpp"
#include "balancer/selection/selection.hpp"

namespace karmad {

AttemptLines::AttemptLines(const ShardRules& rules)
    : rules_(rules), retries_(*rules.retry, rules.subject) {
  main_.retries = main_.waits = true;
}

/// Starts the next attempt of a line, or waits for a mirror, or ends the line.
void AttemptLines::select(Line& line) {
  line.state = State::asks;
  if (over_) return end_line(line);
  if (const auto pick = select_now(line)) return send(line, *pick);
  if (line.waits && !line.end.refused) return wait_for_slot(line);
  if (rules_.needed() != nullptr && !line.end.refused)
    moment_->mirrors.selection_failed("no other mirror is suitable at once");
  end_line(line);
}

std::optional<Pick> AttemptLines::select_now(Line& line) {
  auto& mirrors = moment_->mirrors;
  const auto longest = rules_.selection_timeout;
  if (!line.selection_left && longest > Micros{0}) line.selection_left = longest;
  if (const auto wanted = std::exchange(line.wanted, std::nullopt);
      wanted && mirrors.try_take_slot(*wanted)) {
    Candidates only;
    only.insert(*wanted);
    return Pick{.mirror = *wanted, .suitable = only, .acceptable = only};
  }
  if (const auto* need = rules_.needed(); need != nullptr) {
    mirrors.selection_started();
    line.end.refused = refusal_of(*need, rules_.any_takes_updates, mirrors.view());
    if (line.end.refused) {
      mirrors.selection_failed(line.end.refused->reason);
      return std::nullopt;
    }
  }
  const auto choice = this->choice(line);
  const bool may_probe = !rules_.subject.follow_up && line.memory.among.empty();
  if (line.reason == AttemptReason::initial && may_probe)
    if (auto probed = choice.probe()) return probed;
  return choice.choose(choice.criteria_now());
}

/// Sends the attempt; the slot of the pick is taken.
void AttemptLines::send(Line& line, const Pick& pick) {
  const auto mirror = pick.mirror;
  actions_.emplace_back(action::Send{.slot = line.slot,
                                     .pick = pick,
                                     .connect_timeout = time_to_connect(line, mirror),
                                     .reason = line.reason,
                                     .pause = line.pause,
                                     .number = line.attempts});
  line.state = State::asks;
  line.memory.tried.insert(mirror);
  line.end.mirror = mirror;
  line.end.slot = line.slot;
  line.under_way.emplace(moment_->protection.standings, mirror);
  ++line.attempts;
}

/// Limits connecting to what the line's earlier waits and connects have left (SS-111). Keeps half
/// of it for a further mirror if there is one; a minimum is always left.
Micros AttemptLines::time_to_connect(const Line& line, std::size_t mirror) const {
  const auto longest = rules_.connect_timeout;
  if (!line.selection_left || *line.selection_left / 2 >= longest) return longest;
  Candidates chosen;
  chosen.insert(mirror);
  const bool others = line.retries && !(choice(line).untried() - chosen).empty();
  const auto left = others ? *line.selection_left / 2 : *line.selection_left;
  return std::min(longest, std::max(left, Deadlines::kTick));
}

void AttemptLines::end_line(Line& line) {
  end_slot_wait(line);
  line.selection_wait.reset();
  line.standing_wait.reset();
  line.retry_permit.reset();
  line.state = State::ended;
}

/// An attempt in progress ends when its end is reported; a wait ends at once.
void AttemptLines::break_off(Line& line, bool lost_race) {
  if (line.ended() || line.cancelled) return;
  line.cancelled = line.state == State::asks;
  if (!line.cancelled) {
    const bool selects =
        line.state == State::waits_for_mirror || line.state == State::waits_for_slot;
    if (selects && rules_.needed() != nullptr)
      moment_->mirrors.selection_failed("the query is over");
    return end_line(line);
  }
  actions_.emplace_back(action::Cancel{line.slot, lost_race});
}

void AttemptLines::break_off_all() {
  over_ = true;
  break_off(main_);
  for (const auto& other : others_) break_off(*other);
}

bool AttemptLines::all_ended() const {
  return main_.ended() &&
         std::ranges::all_of(others_, [](const auto& other) { return other->ended(); });
}

/// Makes the line's end and reply those of the request.
void AttemptLines::take_over(const Line& line) {
  const bool timed_out = main_.end.timed_out || line.end.timed_out;
  const bool plan_again = main_.end.plan_again || line.end.plan_again;
  const auto selection_left = main_.end.selection_left;
  main_.end = line.end;
  main_.end.timed_out = timed_out;
  main_.end.plan_again = plan_again;
  main_.end.selection_left = selection_left;
  main_.end.refused.reset();
}

}  // namespace karmad
