#include "balancer/shard/attempt_chains.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/transport/loop/ticks.hpp"
#include "balancer/selection/selection.hpp"

namespace karmad {
namespace {

Refusal no_slot_in_time() {
  return overload_refusal("all mirrors were full until the query's deadline (max_in_flight)");
}

}  // namespace

AttemptChains::AttemptChains(const ShardRules& rules)
    : rules_(rules), retries_(*rules.retry, rules.subject) {
  main_.retries = main_.waits = true;
}

AttemptChain& AttemptChains::add(std::unique_ptr<AttemptChain> chain) {
  const auto slot = chain->slot;
  if (slot > others_.size()) others_.emplace_back();
  return *(others_[slot - 1] = std::move(chain));
}

void AttemptChains::select(AttemptChain& chain) {
  chain.state = chain_state::Asks{};
  if (over_) return end_chain(chain);
  if (const auto pick = select_now(chain)) return send(chain, *pick);
  if (chain.waits && !chain.end.refused) return wait_for_slot(chain);
  if (rules_.needed() != nullptr && !chain.end.refused)
    log_failure("no other mirror is suitable at once");
  end_chain(chain);
}

std::optional<Pick> AttemptChains::select_now(AttemptChain& chain) {
  auto& mirrors = moment_->mirrors;
  const auto longest = rules_.selection_timeout;
  if (!chain.selection_left && longest > Micros{0}) chain.selection_left = longest;
  if (const auto wanted = std::exchange(chain.upcoming.wanted, std::nullopt);
      wanted && mirrors.try_take_slot(*wanted)) {
    const auto only = Candidates::only(*wanted);
    return Pick{.mirror = *wanted, .suitable = only, .acceptable = only};
  }
  if (const auto* need = rules_.needed(); need != nullptr) {
    log({.what = action::Log::What::selection_started});
    chain.end.refused = refusal_of(*need, rules_.any_takes_updates, mirrors.view());
    if (chain.end.refused) {
      log_failure(chain.end.refused->reason);
      return std::nullopt;
    }
  }
  const auto choice = this->choice(chain);
  const bool may_probe = !rules_.subject.follow_up && chain.memory.among.empty();
  if (chain.upcoming.reason == AttemptReason::initial && may_probe)
    if (auto probed = choice.probe()) return probed;
  return choice.choose(choice.criteria_now());
}

/// Sends the attempt; the slot of the pick is taken.
void AttemptChains::send(AttemptChain& chain, const Pick& pick) {
  const auto mirror = pick.mirror;
  actions_.emplace_back(action::Send{.slot = chain.slot,
                                     .pick = pick,
                                     .connect_timeout = time_to_connect(chain, mirror),
                                     .reason = chain.upcoming.reason,
                                     .pause = chain.upcoming.pause,
                                     .number = chain.attempts});
  leave_wait(chain);
  chain.state = chain_state::Asks{};
  chain.memory.tried.insert(mirror);
  chain.memory.only = {};
  chain.end.mirror = mirror;
  chain.end.slot = chain.slot;
  chain.under_way.emplace(moment_->protection.standings, mirror);
  ++chain.attempts;
}

/// Limits connecting to what the chain's earlier waits and connects have left (SS-111). Keeps half
/// of it for a further mirror if there is one; a minimum is always left.
Micros AttemptChains::time_to_connect(const AttemptChain& chain, std::size_t mirror) const {
  const auto longest = rules_.connect_timeout;
  if (!chain.selection_left || *chain.selection_left / 2 >= longest) return longest;
  const bool others =
      chain.retries && !(choice(chain).untried() - Candidates::only(mirror)).empty();
  const auto left = others ? *chain.selection_left / 2 : *chain.selection_left;
  return std::min(longest, std::max(left, Deadlines::kTick));
}

void AttemptChains::end_chain(AttemptChain& chain) {
  leave_wait(chain);
  chain.retry_permit.reset();
  chain.state = chain_state::Ended{};
}

/// An attempt in progress ends when its end is reported; a wait ends at once.
void AttemptChains::break_off(AttemptChain& chain, action::Cancel::Why why) {
  if (chain.ended() || chain.cancelled) return;
  chain.cancelled = chain.is<chain_state::Asks>();
  if (!chain.cancelled) {
    const bool selects =
        chain.is<chain_state::WaitsForMirror>() || chain.is<chain_state::WaitsForSlot>();
    if (selects && rules_.needed() != nullptr) log_failure("the query is over");
    return end_chain(chain);
  }
  actions_.emplace_back(action::Cancel{chain.slot, why});
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

void AttemptChains::pass_permit_to(AttemptChain& chain) {
  if (!main_.retry_permit) return;
  chain.retry_permit.emplace(*std::move(main_.retry_permit));
  main_.retry_permit.reset();
}

void AttemptChains::learn_from(const AttemptChain& chain) {
  auto& memory = main_.memory;
  memory.tried = memory.tried | chain.memory.tried;
  memory.behind = memory.behind | chain.memory.behind;
  for (const auto& mark : chain.memory.marked_unreachable)
    if (!std::ranges::count(memory.marked_unreachable, mark))
      memory.marked_unreachable.push_back(mark);
}

void AttemptChains::take_over(const AttemptChain& chain) {
  const bool timed_out = main_.end.timed_out || chain.end.timed_out;
  const bool plan_again = main_.end.plan_again || chain.end.plan_again;
  const auto selection_left = main_.end.selection_left;
  main_.end = chain.end;
  main_.end.timed_out = timed_out;
  main_.end.plan_again = plan_again;
  main_.end.selection_left = selection_left;
  main_.end.refused.reset();
}

// ---- waits: for a suitable mirror, a slot, news of standings, the end of a pause

/// Called after news, or when the time of a wait has come.
void AttemptChains::proceed_waits(bool news) {
  const auto proceed_chain =
      [&](AttemptChain& chain) {  // each step may replace the state that it was in
        const auto is_due = [&](TimePoint until) { return now() >= until; };
        if (const auto* mirror = std::get_if<chain_state::WaitsForMirror>(&chain.state)) {
          if (news || is_due(mirror->until)) select_again(chain);
        } else if (chain.is<chain_state::WaitsForSlot>()) {
          if (news || is_due(rules_.deadline)) select_for_slot(chain);
        } else if (const auto* health = std::get_if<chain_state::WaitsForHealth>(&chain.state)) {
          if (news || is_due(health->until)) ask_elsewhere(chain);
        } else if (const auto* pause = std::get_if<chain_state::Pauses>(&chain.state)) {
          if (is_due(pause->until)) make_retry(chain);
        }
      };
  proceed_chain(main_);
  for (std::size_t i = 0; i < others_.size(); ++i) proceed_chain(*others_[i]);
}

/// If all suitable mirrors are full, waits for a slot.
void AttemptChains::wait_for_slot(AttemptChain& chain) {
  const auto full = choice(chain).all_full();
  if (full.empty()) return wait_for_mirror(chain);
  auto& queue = moment_->mirrors.wait_queue();
  const auto most = moment_->mirrors.longest_queue();
  Waiting counted(queue.waiting);
  if (counted.before() >= most)
    return refuse_slot(chain, overload_refusal(fmt::format(
                                  "all mirrors are full (max_in_flight), and as many queries wait "
                                  "as max_in_flight_queue = {} allows",
                                  most)));
  count(Count::slots_waited);
  queue.waited.fetch_add(1, std::memory_order_relaxed);
  auto for_mirror = leave_wait(chain);
  chain.state = chain_state::WaitsForSlot{.counted = std::move(counted),
                                          .for_mirror = std::move(for_mirror),
                                          .since = now(),
                                          .slots = full};
  if (now() >= rules_.deadline) refuse_slot(chain, no_slot_in_time());
}

void AttemptChains::refuse_slot(AttemptChain& chain, Refusal refusal) {
  count(Count::slots_refused);
  moment_->mirrors.wait_queue().refused.fetch_add(1, std::memory_order_relaxed);
  chain.end.refused = std::move(refusal);
  give_up_selection(chain);
}

void AttemptChains::select_for_slot(AttemptChain& chain) {
  auto& slots = std::get<chain_state::WaitsForSlot>(chain.state).slots;
  slots = choice(chain).suitable_if_free();
  if (slots.empty()) return wait_for_mirror(chain);
  if (now() >= rules_.deadline) refuse_slot(chain, no_slot_in_time());
}

void AttemptChains::slot_freed(std::size_t mirror) {
  for (std::size_t slot = 0; slot <= others_.size(); ++slot) {
    auto& chain = this->chain(slot);
    if (!chain.is<chain_state::WaitsForSlot>()) continue;
    const auto from = choice(chain).suitable_if_free();
    if (!from.contains(mirror)) return select_for_slot(chain);
    return send(chain, {.mirror = mirror, .suitable = from, .acceptable = from});
  }
}

/// The chain waits no more for a slot, whose duration is counted, or for a mirror: that wait is
/// returned, for a chain that goes on with it.
std::optional<Waiting> AttemptChains::leave_wait(AttemptChain& chain) {
  std::optional<Waiting> for_mirror;
  if (auto* const mirror = std::get_if<chain_state::WaitsForMirror>(&chain.state)) {
    for_mirror = std::move(mirror->counted);
  } else if (auto* const slot = std::get_if<chain_state::WaitsForSlot>(&chain.state)) {
    const auto waited = std::chrono::duration_cast<Micros>(now() - slot->since).count();
    const auto micros = static_cast<std::uint64_t>(std::max<Micros::rep>(0, waited));
    moment_->counters.add(Count::slots_wait_us, micros);
    moment_->mirrors.wait_queue().micros.fetch_add(micros, std::memory_order_relaxed);
    for_mirror = std::move(slot->for_mirror);
    chain.state = chain_state::Asks{};
  }
  return for_mirror;
}

TimePoint AttemptChains::selection_end(const AttemptChain& chain) const {
  return std::min(rules_.deadline, now() + chain.selection_left.value_or(Micros{0}));
}

/// Waits until a mirror is suitable (SS-112, SS-128).
void AttemptChains::wait_for_mirror(AttemptChain& chain) {
  auto counted = leave_wait(chain);
  if (auto why = moment_->mirrors.absent()) {
    chain.end.refused = {.type = "no_mirrors", .reason = *std::move(why), .retry_after = 1};
    return give_up_selection(chain);
  }
  if (choice(chain).all_out_of_service()) {
    chain.end.refused = {
        .type = "out_of_service",
        .reason = "all suitable mirrors were taken out of service by the operator (drain, maint)",
        .retry_after = 1};
    return give_up_selection(chain);
  }
  if (counted) return wait_for_change(chain, *std::move(counted));
  auto& mirrors = moment_->mirrors;
  if (selection_end(chain) <= now() || !mirrors.pinged()) return give_up_selection(chain);
  counted.emplace(*rules_.waiting_selections);
  if (counted->before() >= rules_.max_waiting_selections) {
    chain.end.refused = overload_refusal(fmt::format(
        "as many queries wait for a suitable mirror as max_waiting_selections = {} allows",
        rules_.max_waiting_selections));
    count(Count::selections_refused);
    return give_up_selection(chain);
  }
  count(Count::selections_waited);
  log({.what = action::Log::What::selection_waits,
       .remaining = std::chrono::duration_cast<Micros>(selection_end(chain) - now())});
  wait_for_change(chain, *std::move(counted));
}

void AttemptChains::wait_for_change(AttemptChain& chain, Waiting counted) {
  const auto end = selection_end(chain);
  if (end <= now() || moment_->mirrors.closed()) return give_up_selection(chain);
  actions_.emplace_back(action::CheckMirrors{});
  chain.state = chain_state::WaitsForMirror{
      .counted = std::move(counted), .since = now(), .until = std::min(end, now() + kRecheck)};
}

void AttemptChains::select_again(AttemptChain& chain) {
  const auto since = std::get<chain_state::WaitsForMirror>(chain.state).since;
  *chain.selection_left -= std::chrono::duration_cast<Micros>(now() - since);
  if (const auto* need = rules_.needed())
    chain.end.refused = refusal_of(*need, rules_.any_takes_updates, moment_->mirrors.view());
  if (chain.end.refused) return give_up_selection(chain);
  const auto choice = this->choice(chain);
  if (const auto pick = choice.choose(choice.criteria_now())) return send(chain, *pick);
  wait_for_slot(chain);
}

/// No suitable mirror in time: sets the refusal and ends the chain.
void AttemptChains::give_up_selection(AttemptChain& chain) {
  auto& mirrors = moment_->mirrors;
  auto& refused = chain.end.refused;
  if (!refused && mirrors.closed()) {
    refused = {
        .type = "configuration_changed",
        .reason = "a new configuration replaced the mirrors this query waited for; send it again",
        .retry_after = 1};
    // What waits here can be sent: the query goes on with the mirrors of the new configuration, and
    // waits for them as long as it would have waited for these.
    const bool has_time = !chain.selection_left || selection_end(chain) > now();
    if (has_time && now() < rules_.deadline) {
      chain.end.plan_again = main_.end.plan_again = true;
      main_.end.selection_left = chain.selection_left;
    }
  }
  if (!refused) {
    refused = nothing_suitable(*rules_.need, mirrors);
    count(Count::selections_failed);
  }
  log_failure(refused->reason);
  // Earlier failures are more informative than the lack of a further mirror (BP-063).
  if (chain.attempts > 0) refused.reset();
  end_chain(chain);
}

/// Adds the earliest of all waits of the chains.
void AttemptChains::add_waits(action::Wait& wait) const {
  const auto add = [&](const AttemptChain& chain) {
    if (const auto* mirror = std::get_if<chain_state::WaitsForMirror>(&chain.state)) {
      wait.end_by(mirror->until);
    } else if (const auto* slot = std::get_if<chain_state::WaitsForSlot>(&chain.state)) {
      wait.end_by(rules_.deadline);
      wait.slots = slot->slots;
    } else if (const auto* health = std::get_if<chain_state::WaitsForHealth>(&chain.state)) {
      wait.end_by(health->until);
    } else {
      if (const auto* pause = std::get_if<chain_state::Pauses>(&chain.state))
        wait.end_by(pause->until);
      return;
    }
    wait.news = true;
  };
  add(main_);
  for (const auto& other : others_) add(*other);
}

}  // namespace karmad
