// The consequences of an attempt of a shard request: what is learned, and whether another attempt
// follows.
#include <algorithm>
#include <string_view>
#include <utility>

#include "balancer/core/long_work.hpp"
#include "balancer/rules/standings.hpp"
#include "balancer/rules/zones.hpp"
#include "balancer/shard/attempt_chains.hpp"

namespace karmad {
namespace {

std::optional<Count> counted_as(AttemptReason reason) {
  if (reason == AttemptReason::overload) return Count::overload_retries;
  if (reason == AttemptReason::throttled) return Count::throttled_retries;
  if (reason == AttemptReason::generation_low) return Count::generation_retries;
  if (reason == AttemptReason::new_primary) return Count::primary_retries;
  return std::nullopt;
}

/// Among the mirrors that reported to be behind, the newest one; if equal, `asked`.
std::size_t newest_behind(const ChainLearned& chain, const SetView& view, std::size_t asked) {
  auto newest = asked;
  for (const auto mirror : chain.behind)
    if (chain.generations.known(mirror, view) > chain.generations.known(newest, view))
      newest = mirror;
  return newest;
}

/// The standings of the mirrors. A mirror that only could not be reached works again if its last
/// ping was answered.
SetHealth::Groups standings_in(const ShardInputs& moment) {
  const auto& standings = moment.protection.standings;
  auto groups = standings.groups();
  if (!standings.any_unreachable()) return groups;
  const auto reachable = standings.unreachable() - moment.mirrors.failing();
  const auto back = reachable.where([&](std::size_t i) { return standings.of(i).needed == 1; });
  groups.proven = groups.proven | back;
  groups.failing = groups.failing - back;
  return groups;
}

// Why a retry is not made.
constexpr std::string_view kUsedUp = "retry refused: the retry budget is used up";
constexpr std::string_view kNoneWorks =
    "retry refused: the retry budget is used up, and no other mirror is known to work";
constexpr std::string_view kSwitchedOff =
    "retry refused: retry_budget_percent and retry_budget_min are 0";

constexpr std::string_view kTimedOutTwice =
    "no retry: a search is sent once more after a timeout, and has been";
constexpr std::string_view kListUsedUp = "no retry: search_timeouts has no further step";
constexpr std::string_view kNoneForTimeout =
    "no retry: after a timeout only a mirror that is not known to fail is asked";

bool is_out_of_reach(Outcome outcome) {
  return outcome == Outcome::connect_failed || outcome == Outcome::connect_timeout ||
         outcome == Outcome::unreachable;
}

}  // namespace

void AttemptChains::attempt_ended(AttemptChain& chain, AttemptReport& report) {
  learn(chain, report);
  auto next = after_attempt(chain, report);
  if (chain.end.answered()) return end_chain(chain);
  apply(chain, next, report);
  if (report.outcome == Outcome::client_mistake) {
    if (report.hint.kind == ErrorHint::Kind::none) return end_chain(chain);
    chain.end.outcome = Outcome::agent_error;  // it shows the mirror's state
  }
  add_failed(chain, std::move(report.why));
  if (report.crashed) {
    chain.end.crashed = main_.end.crashed = true;
    end_chain(chain);
    return break_off_all();
  }
  // The shard has moved, and a reload has replaced the configuration meanwhile: the whole query is
  // planned again, once (CO-051, CO-052).
  const auto kind = report.hint.kind;
  const bool moved = kind == ErrorHint::Kind::moved || kind == ErrorHint::Kind::migrating;
  if (moved && report.replaced && (next.is_retry() || (!chain.retries && rules_.reads()))) {
    chain.end.plan_again = main_.end.plan_again = true;
    end_chain(chain);
    return break_off_all();
  }
  if (!next.is_retry() || over_ || chain.cancelled) {
    return_token(next);
    if (next.final == Final::not_retryable && !over_) explain_timeout(chain, report);
    return end_chain(chain);
  }
  retry(chain, next);
}

/// BP-025: a retry that is not made costs no token.
void AttemptChains::return_token(Decision& next) {
  if (std::exchange(next.took_token, false)) moment_->protection.tokens.give_back();
}

/// The reply could not be merged. Asks another mirror if the retry rules allow that at once.
void AttemptChains::reply_rejected(std::string why) {
  count(Count::merge_rejected);
  auto& end = main_.end;
  end.outcome = Outcome::wrong_reply;
  end.hint = {};
  end.sub_status = 0;
  add_failed(main_, std::move(why));
  AttemptReport report;
  report.outcome = Outcome::wrong_reply;
  report.sent = true;
  const auto next = decide(main_, retries_, report, &moment_->protection.tokens, *moment_);
  moment_->protection.standings.ended(*end.mirror, Outcome::wrong_reply);
  if (over_ || !next.is_retry() || next.pause > Micros{0}) return;
  rejected_ = true;
  retry(main_, next);
}

/// Records what the attempt shows about its mirror, for this request and for the shard.
void AttemptChains::learn(AttemptChain& chain, const AttemptReport& report) {
  auto& protection = moment_->protection;
  const auto mirror = *chain.end.mirror;
  if (chain.selection_left) *chain.selection_left -= report.connecting;
  if (report.marked_unreachable) chain.memory.marked_unreachable.emplace_back(mirror, now());
  chain.memory.among = {};
  if (!report.undecided) protection.standings.ended(mirror, report.outcome, report.silent);
  if (protection.breaker && !report.undecided && !report.passed_on)
    protection.breaker->ended(mirror, rules_.need->operation, report.outcome, now());
  chain.under_way.reset();
  if (protection.standings.take_change()) actions_.emplace_back(action::NotifyWaiters{});
  chain.generation = report.generation;
  chain.end.outcome = report.outcome;
  chain.end.status = report.status;
  chain.end.timed_out = report.out_of_time || report.outcome == Outcome::query_timeout ||
                        report.outcome == Outcome::connect_timeout ||
                        report.outcome == Outcome::unreachable;
  if (report.sent && !chain.end.answered() && report.outcome != Outcome::client_mistake &&
      report.outcome != Outcome::agent_error)
    chain.end.in_doubt = true;
  if (report.unchecked == Unchecked::no_helper) chain.end.refused = too_much_long_work();
  if (report.unchecked == Unchecked::internal_error)
    chain.end.refused = {.status = 500, .type = "internal_error", .reason = report.why};
}

/// Applies the retry rules. A chain without retries is only judged (CO-083), which sets marks.
Decision AttemptChains::after_attempt(AttemptChain& chain, const AttemptReport& report) {
  auto* const tokens = &moment_->protection.tokens;
  const bool answered = chain.end.answered();
  // A retry that shows only that mirrors agree, or that another one has to follow, is paid for,
  // like one that fails.
  const bool mistaken = report.outcome == Outcome::client_mistake && !report.agreed &&
                        report.hint.kind == ErrorHint::Kind::none;
  if (chain.retry_permit && (answered || mistaken)) chain.retry_permit->succeeded();
  if (chain.retry_permit) {
    chain.retry_permit.reset();
    auto& standings = moment_->protection.standings;
    standings.retry_ended();
    if (standings.take_change()) actions_.emplace_back(action::NotifyWaiters{});
  }
  if (answered)
    return chain.retries ? retries_.after({.outcome = report.outcome}, Micros{0}, 0, tokens)
                         : Decision{.final = Final::answered};
  chain.end.hint = report.hint;
  chain.end.sub_status = report.hint.sub_status;
  if (!chain.retries) {
    const auto alone = leave_alone(*rules_.retry, report.hint);
    return {.unavailable = alone.unavailable, .retry_after = alone.retry_after};
  }
  return decide(chain, retries_, report, tokens, *moment_);
}

Decision AttemptChains::decide(const AttemptChain& chain, RetryLoop& retries,
                               const AttemptReport& report, TokenBucket* tokens,
                               const ShardInputs& moment) const {
  // Other mirrors have the update: a retry at a dead one would only delay the answer.
  if (rules_.only && !report.sent && is_out_of_reach(report.outcome))
    return {.final = Final::not_retryable};
  const auto& hint = report.hint;
  const MirrorChoice choice(rules_, chain.memory, moment);
  const auto& picture = moment.mirrors.view().picture;
  const auto mirrors = picture.mirrors.size();
  const auto untried = untried_levels(chain, moment).all();
  const bool fresh_left = !untried.empty();
  // A search that timed out may continue through the list of timeouts (CO-044). Without a list it
  // is asked once more, of a mirror that is not known to fail
  // (docs/decisions/041-search-timeouts.md). Otherwise a timeout causes no retry, unless the mirror
  // turns out to be unreachable.
  const bool timed_out = report.outcome == Outcome::query_timeout && rules_.reads();
  const bool next_step = timed_out && chain.attempts < rules_.retry->timeout_steps;
  const bool once_more = timed_out && !report.unreachable && rules_.retry->timeout_steps == 0 &&
                         !chain.after_timeout && !(untried - standings_in(moment).failing).empty();
  const auto outcome = next_step || once_more ? Outcome::closed_early
                       : report.unreachable   ? Outcome::unreachable
                                              : report.outcome;
  auto next = retries.after(
      {.outcome = outcome,
       .hint = hint,
       .status = report.status,
       .sent = report.sent,
       .nothing_done = report.nothing_done,
       .body_gone = report.body_gone,
       .tried = fresh_left ? std::min(chain.memory.tried.size(), mirrors - 1) : mirrors,
       .set = picture.kind,
       .other_zone = choice.has_other_zone(chain.end.mirror),
       .up_to_date_left = hint.kind == ErrorHint::Kind::generation_low && choice.has_up_to_date(),
       .hopeful_left = hint.overload &&
                       !((choice.untried() - in_race()) & standings_in(moment).hopeful()).empty(),
       .next_timeout = next_step},
      std::chrono::duration_cast<Micros>(rules_.deadline - moment.now), moment.random.uniform(),
      tokens);
  // Mirrors that work may all report these, so that free retries would have no end.
  next.paid = once_more || hint.kind == ErrorHint::Kind::retry_with ||
              (hint.kind == ErrorHint::Kind::generation_low && !rules_.min_generation);
  return next;
}

/// Applies a decision to the mirror that was asked, whether or not a retry follows.
void AttemptChains::apply(AttemptChain& chain, const Decision& next, const AttemptReport& report) {
  const auto asked = *chain.end.mirror;
  const auto& view = moment_->mirrors.view();
  auto& unavailable = moment_->protection.unavailable;
  chain.end.status_override = next.status;
  if (report.hint.kind == ErrorHint::Kind::generation_low) note_behind(chain, report);
  if (next.unavailable > Micros{0}) unavailable.mark(asked, now(), next.unavailable);
  if (next.retry_after > Micros{0}) {
    unavailable.mark_paused(asked, now(), next.retry_after);
    chain.end.hint.delay = shortest_pause(next.retry_after);
  }
  if (next.is_retry() && rules_.subject.follow_up)  // only this mirror holds the cursor
    chain.memory.excluded =
        Candidates::first(view.picture.mirrors.size()) - Candidates::only(asked);
  if (next.refresh) actions_.emplace_back(action::CheckMirrors{});
  if (next.is_retry() && next.avoid) chain.memory.avoided.insert(asked);
  if (next.leave_zone)
    chain.memory.left_zones = chain.memory.left_zones | zone_mates(view.picture, asked);
  if (next.prefer == Decision::Prefer::newest_behind)
    chain.upcoming.wanted = newest_behind(chain.memory, view, asked);
  if (next.prefer == Decision::Prefer::primary) chain.upcoming.wanted = serving_primary();
}

/// The time after which a suitable mirror that wants a pause may be asked, at most `most`: what the
/// client is told to wait.
Micros AttemptChains::shortest_pause(Micros most) const {
  for (const auto mirror : choice(main_).suitable()) {
    const auto rest = moment_->protection.unavailable.rest(mirror, now()).paused;
    if (rest > Micros{0}) most = std::min(most, rest);
  }
  return most;
}

/// The mirror lacks data the client has seen: noted for this request, and for a moment for all
/// requests of this shard that need as much (CO-034).
void AttemptChains::note_behind(AttemptChain& chain, const AttemptReport& report) {
  const auto asked = *chain.end.mirror;
  chain.memory.behind.insert(asked);
  chain.memory.generations.add(asked, report.generation);
  if (!rules_.min_generation) return;
  const auto wanted = *rules_.min_generation;
  const bool told = report.generation && *report.generation < wanted;
  moment_->protection.behind.mark(asked, told ? *report.generation + 1 : wanted,
                                  now() + rules_.retry->behind_mark);
}

void AttemptChains::add_failed(const AttemptChain& chain, std::string why) {
  const auto place = std::ranges::upper_bound(failed_, chain.order, {}, &FailedAttempt::chain);
  failed_.insert(place, {chain.order, *chain.end.mirror, std::move(why)});
}

/// Asks the retry budget. The retry counts from now on, since queued retries are future load.
void AttemptChains::retry(AttemptChain& chain, const Decision& next) {
  chain.upcoming.decision = next;
  chain.retry_permit.reset();
  chain.memory.among = {};
  chain.after_timeout =
      chain.after_timeout || (next.paid && chain.end.outcome == Outcome::query_timeout);
  if (next.avoid && next.pause == Micros{0} && !chain.upcoming.wanted) return ask_elsewhere(chain);
  if (acquire_retry_permit(chain, RetryBudget::For::other))
    return on_budget_decision(chain, true, {});
  if (next.prefer != Decision::Prefer::any && has_newer_primary(chain)) {
    chain.upcoming.wanted = moment_->mirrors.view().primary;
    chain.upcoming.decision.pause = {};  // it is meant for replicas
    return on_budget_decision(chain, acquire_retry_permit(chain, RetryBudget::For::proven),
                              kSwitchedOff);
  }
  if (chain.upcoming.wanted || !has_proven(chain)) return refuse_retry(chain, kUsedUp);
  return_token(chain.upcoming.decision);
  chain.upcoming.decision.pause = {};  // it is meant for the mirror that was asked
  chain.memory.avoided.insert(*chain.end.mirror);
  ask_elsewhere(chain);
}

Candidates AttemptChains::in_race() const {
  auto asked = main_.memory.tried;
  for (const auto& other : others_) asked = asked | other->memory.tried;
  return asked;
}

/// Whether the request may ask a mirror that works and that it has not tried.
bool AttemptChains::has_proven(const AttemptChain& chain) const {
  if (!rules_.reads() || rules_.subject.follow_up) return false;
  return !(untried_levels(chain, *moment_).all() & standings_in(*moment_).proven).empty();
}

/// Whether the primary works, was not tried, and is not known to lack what the client has seen: a
/// search that finds all replicas behind may ask it for free (CO-034).
bool AttemptChains::has_newer_primary(const AttemptChain& chain) const {
  const auto primary = serving_primary();
  if (!rules_.min_generation || !primary || chain.memory.tried.contains(*primary)) return false;
  return standings_in(*moment_).proven.contains(*primary) &&
         !choice(chain).criteria().objections[AvoidReason::outdated].contains(*primary);
}

/// The primary, unless the operator has taken it out.
std::optional<std::size_t> AttemptChains::serving_primary() const {
  const auto primary = moment_->mirrors.view().primary;
  const bool out = primary && moment_->mirrors.out_of_service().all().contains(*primary);
  return out ? std::nullopt : primary;
}

PreferenceLevels AttemptChains::untried_levels(const AttemptChain& chain,
                                               const ShardInputs& moment) const {
  const MirrorChoice choice(rules_, chain.memory, moment);
  const auto free = choice.untried_levels();
  auto& mirrors = moment.mirrors;
  if (!chain.waits || !mirrors.limited() ||
      mirrors.wait_queue().waiting.load(std::memory_order_relaxed) >= mirrors.longest_queue())
    return free;
  const auto proven = standings_in(moment).proven;
  const auto all = choice.untried_levels_if_free();
  const bool only_full_ones_work = (free.all() & proven).empty() && !(all.all() & proven).empty();
  return free.size() == 0 || only_full_ones_work ? all : free;
}

bool AttemptChains::acquire_retry_permit(AttemptChain& chain, RetryBudget::For what) {
  auto& budget = moment_->protection.budget;
  chain.borrows = chain.borrows || budget.may_borrow();
  if (auto taken = budget.take(what, chain.borrows)) chain.retry_permit.emplace(*std::move(taken));
  return chain.retry_permit.has_value();
}

void AttemptChains::retry_elsewhere(AttemptChain& chain) {
  chain.upcoming.decision = {.final = Final::no, .reason = chain.upcoming.reason};
  ask_elsewhere(chain);
}

/// Retries at once, at any untried mirror (docs/decisions/012).
void AttemptChains::ask_elsewhere(AttemptChain& chain) {
  const auto& budget = moment_->protection.budget;
  using On = RetryTarget::On;
  for (;;) {
    chain.memory.among = chain.memory.only = {};
    const auto choice = this->choice(chain);
    const auto untried = untried_levels(chain, *moment_);
    if (untried.size() == 0)
      return on_budget_decision(chain, acquire_retry_permit(chain, RetryBudget::For::other),
                                kUsedUp);
    const auto avoided = choice.criteria_now().avoided;
    const auto target = retry_target(untried, avoided, standings_in(*moment_), budget.saved() > 0);
    const auto by_itself = untried.first_of(untried.all() - avoided);
    if (target.among != by_itself) chain.memory.among = target.among;
    if (chain.waits) chain.memory.only = target.among;
    if (chain.upcoming.decision.paid)
      return on_budget_decision(chain, acquire_retry_permit(chain, RetryBudget::For::untried),
                                kUsedUp);
    if (target.on == On::nothing && budget.can_start_another())
      return on_budget_decision(chain, acquire_retry_permit(chain, RetryBudget::For::proven),
                                kSwitchedOff);
    const bool broke = budget.saved() == 0 && !chain.borrows;
    if (target.on == On::budget && (broke ? !repayment_to_come(chain) : budget.can_start_another()))
      return on_budget_decision(chain, acquire_retry_permit(chain, RetryBudget::For::untried),
                                kNoneWorks);
    if (!wait_for_health(chain)) return;
  }
}

/// Two faults in a short time: the mirrors that failed first may work again. The retries that the
/// budget could pay for will show it, and return what they took.
bool AttemptChains::repayment_to_come(AttemptChain& chain) {
  const auto& budget = moment_->protection.budget;
  if (!chain.losses_before) chain.losses_before = budget.losses();
  return budget.may_be_repaid(*chain.losses_before);
}

/// Waits until an attempt in progress shows its mirror's state, or a retry in progress ends. True:
/// check again at once, because that may have happened before this wait was registered.
bool AttemptChains::wait_for_health(AttemptChain& chain) {
  auto* const waits = std::get_if<chain_state::WaitsForHealth>(&chain.state);
  if (waits == nullptr) {
    const auto& begun = chain.state.emplace<chain_state::WaitsForHealth>(
        moment_->protection.standings, *rules_.waiting_selections);
    if (begun.counted.before() < rules_.max_waiting_selections) {
      count(Count::retries_waited);
      return true;
    }
    refuse_retry(chain, "retry refused: too many requests wait already (max_waiting_selections)");
    return false;
  }
  if (now() >= rules_.deadline) {
    refuse_retry(chain, "retry refused: the deadline came before it was known which mirrors work");
    return false;
  }
  waits->until = std::min(rules_.deadline, now() + kRecheck);
  return false;
}

void AttemptChains::on_budget_decision(AttemptChain& chain, bool may, std::string_view why_not) {
  if (chain.is<chain_state::WaitsForHealth>()) chain.state = chain_state::Asks{};
  chain.losses_before.reset();
  if (!may) return refuse_retry(chain, why_not);
  if (over_) {
    return_token(chain.upcoming.decision);
    return end_chain(chain);
  }
  continue_retry(chain);
}

void AttemptChains::refuse_retry(AttemptChain& chain, std::string_view why) {
  return_token(chain.upcoming.decision);
  count(Count::retries_refused);
  log_no_retry(chain, why, choice(chain).untried());
  end_chain(chain);
}

/// Says which mirrors the chain has not asked; `unpaid`: since the budget does not allow it.
void AttemptChains::log_no_retry(AttemptChain& chain, std::string_view why, Candidates unpaid) {
  chain.memory.among = chain.memory.only = {};
  const auto choice = this->choice(chain);
  auto criteria = choice.criteria_now();
  criteria.objections[AvoidReason::tried] = chain.memory.tried;
  criteria.objections[AvoidReason::unpaid] = unpaid;
  criteria.excluded = criteria.excluded | chain.memory.tried | choice.untried();
  log({.what = action::Log::What::retry_refused,
       .why = std::string(why),
       .excluded = std::make_shared<const SelectionCriteria>(criteria)});
}

/// Why the rules send a search that has timed out to no other mirror.
void AttemptChains::explain_timeout(AttemptChain& chain, const AttemptReport& report) {
  const bool by_rule = chain.retries && rules_.reads() && !rules_.subject.follow_up;
  if (report.outcome != Outcome::query_timeout || !by_rule || report.body_gone) return;
  log_no_retry(chain,
               rules_.retry->timeout_steps != 0 ? kListUsedUp
               : chain.after_timeout            ? kTimedOutTwice
                                                : kNoneForTimeout,
               {});
}

void AttemptChains::continue_retry(AttemptChain& chain) {
  chain.upcoming.reason = chain.upcoming.decision.reason;
  chain.upcoming.pause = chain.upcoming.decision.pause;
  if (chain.upcoming.pause == Micros{0}) return make_retry(chain);
  chain.state = chain_state::Pauses{now() + chain.upcoming.pause};
}

void AttemptChains::make_retry(AttemptChain& chain) {
  count(Count::retries);
  if (std::exchange(rejected_, false)) {
    chain.memory.avoided = chain.memory.tried;
    chain.state = chain_state::Ended{};
    restarts_ = true;
    return;
  }
  if (const auto as = counted_as(chain.upcoming.decision.reason)) count(*as);
  select(chain);
}

}  // namespace karmad
