#include "balancer/shard/shard_request.hpp"

#include <utility>

#include "balancer/shard/quorum_read.hpp"

namespace karmad {
ShardRequest::ShardRequest(const ShardRules& rules) : AttemptChains(rules) {}

ShardRequest::~ShardRequest() = default;

std::span<const ShardAction> ShardRequest::next(const ShardEvent& event,
                                                const ShardInputs& moment) {
  actions_.clear();
  moment_ = &moment;
  std::visit([this](const auto& happened) { on(happened); }, event);
  if (!finished_ && !std::holds_alternative<event::MirrorUnreachable>(event)) proceed();
  moment_ = nullptr;
  return {actions_.data(), actions_.size()};
}

void ShardRequest::on(const event::Started&) {
  in_flight_permit_.emplace(moment_->protection.budget, rules_.worker);
  begin();
}

void ShardRequest::on(const event::MirrorUnreachable& now) {
  const auto& chain = this->chain(now.slot);
  if (chain.retries) {  // else a quorum read or a race continues with the others
    const bool waits = chain.waits && rules_.needed() != nullptr;
    if (!waits && untried(now.slot, *moment_).empty()) return;
    auto retries = retries_;
    if (!decide(chain, retries, now.report, nullptr, *moment_).is_retry()) return;
  }
  actions_.emplace_back(action::Cancel{now.slot, action::Cancel::Why::unreachable});
}

void ShardRequest::on(const event::Rejected& rejected) {
  race_.reset();
  quorum_.reset();
  finished_ = false;
  reply_rejected(std::string(rejected.why));
}

/// Starts one chain, a race, or a quorum read.
void ShardRequest::begin() {
  others_.clear();
  hedging_.reset();
  main_.cancelled = main_.taken_in = false;
  if (rules_.quorum) {
    quorum_ = std::make_unique<QuorumRead>(static_cast<AttemptChains&>(*this));
    return;
  }
  if (!rules_.preferred.empty() && main_.memory.tried.empty())
    main_.memory.among = rules_.preferred - choice(main_).criteria().avoided;
  if (rules_.hedging.setting.kind != HedgeSetting::Kind::off) decide_hedging();
  if (hedging_) race_.emplace(*hedging_).sent(now());
  select(main_);
}

void ShardRequest::proceed() {
  if (std::exchange(restarts_, false)) begin();
  if (race_) run_race();
  if (quorum_ ? quorum_->proceed() : all_ended()) {
    if (race_) take_winner();
    finished_ = true;
    rejected_ = false;
    actions_.emplace_back(action::Finish{});
    return;
  }
  action::Wait wait;
  add_waits(wait);
  if (race_ && !over_) wait.end_by(race_->next_at());
  if (quorum_) quorum_->add_wait(wait);
  if (wait.until) actions_.emplace_back(wait);
}

/// Decides whether to hedge. Not hedged: updates, if switched off, with too few mirrors or samples.
/// Load and budget count when a hedge is due: many searches begin while a mirror that has just
/// stopped to answer keeps both busy, some of them at that mirror.
void ShardRequest::decide_hedging() {
  if (!rules_.reads() || rules_.subject.follow_up) return;
  hedging_ = hedge_rules({.hedging = rules_.hedging,
                          .max = rules_.hedge_max,
                          .mirrors = choice(main_).suitable().size(),
                          .read = true,
                          .measured = moment_->mirrors.recent_latency()});
}

/// Asks further mirrors when they are due, and ends the other chains after a final answer.
void ShardRequest::run_race() {
  report_to_race();
  while (!over_ && !race_->is_over()) {
    const auto next = race_->next_at();
    if (!next || *next > now()) return;
    hedge();
    report_to_race();
  }
  using enum action::Cancel::Why;
  const auto winner = race_->winner();
  for (std::size_t slot = 0; slot <= others_.size(); ++slot)
    break_off(chain(slot), winner && slot < *winner ? lost_race : not_needed);
}

/// Reports ends of chains to the race, but not those caused by the end of the request.
void ShardRequest::report_to_race() {
  for (std::size_t slot = 0; slot <= others_.size(); ++slot) {
    auto& chain = this->chain(slot);
    if (!chain.ended() || over_ || std::exchange(chain.taken_in, true)) continue;
    race_->ended(slot, race_end(chain.end.outcome, chain.end.status, chain.end.sub_status), now());
  }
}

/// Asks the next mirror, if one is free, and load and budget allow it; if not, tries again later.
void ShardRequest::hedge() {
  auto own = std::make_unique<AttemptChain>();
  own->slot = own->order = others_.size() + 1;
  own->upcoming.reason = AttemptReason::hedge;
  own->memory.marked_unreachable = main_.memory.marked_unreachable;
  own->memory.tried = in_race();
  own->memory.excluded = own->memory.tried | choice(main_).criteria().avoided;
  if (choice(*own).untried().empty() || moment_->mirrors.loaded_for_hedging())
    return race_->postpone(now());
  auto permit = moment_->protection.budget.take_hedge(rules_.hedging.setting.kind);
  if (!permit) return race_->postpone(now());
  own->retry_permit.emplace(*std::move(permit));
  if (!may_ask_another()) return race_->no_more();
  count(Count::hedges);
  race_->sent(now());
  auto& chain = add(std::move(own));
  select(chain);
  if (!chain.end.mirror) return;
  main_.memory.tried.insert(*chain.end.mirror);  // a retry asks another one
  avoid(*chain.end.mirror);
}

/// Takes over what the hedges learned, and the end of the chain whose answer counts.
void ShardRequest::take_winner() {
  const auto winner = race_->winner().value_or(0);
  for (const auto& other : others_) {
    learn_from(*other);
    if (other->slot != winner || !other->end.mirror) continue;
    take_over(*other);
    if (main_.end.answered()) count(Count::hedges_won);
  }
}

Candidates ShardRequest::untried(std::size_t slot, const ShardInputs& moment) const {
  return untried_levels(chain(slot), moment).all();
}

}  // namespace karmad
