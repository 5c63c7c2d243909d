#include "balancer/rules/retry_budget.hpp"

namespace karmad {
namespace {

using std::memory_order_relaxed;
using HedgeKind = HedgeSetting::Kind;

/// Adds up to `most`; other threads see only valid values.
template <class Number>
void add_up_to(std::atomic<Number>& account, Number amount, Number most) {
  auto before = account.load(memory_order_relaxed);
  while (before < most &&
         !account.compare_exchange_weak(before, before + std::min(amount, most - before),
                                        memory_order_relaxed))
    continue;
}

/// Takes all of `amount`, or nothing.
template <class Number>
bool take_whole(std::atomic<Number>& account, Number amount) {
  auto before = account.load(memory_order_relaxed);
  do {
    if (before < amount) return false;
  } while (!account.compare_exchange_weak(before, before - amount, memory_order_relaxed));
  return true;
}

}  // namespace

void write(StatsWriter& out, const RetryBudgetStatus& budget) {
  using enum StatKind;
  out.add(
      {"retry_budget_live", "requests to shards in progress; the retry budget is a share of them",
       gauge, Unit::count, "", "live"},
      budget.live);
  out.add({"retry_budget_extras", "retries and hedges queued or in progress", gauge, Unit::count,
           "", "extras"},
          budget.extras);
  out.add("retry_budget_saved",
          "retries and hedges that the budget has saved up during quiet times", "saved",
          budget.saved, gauge);
  out.add({"retry_budget_given", "retries and hedges that the budget has allowed", counter,
           Unit::count, "", "given"},
          budget.given);
  out.add("retry_budget_refused", "retries and hedges that the budget has not allowed", "refused",
          budget.refused);
  if (budget.tokens)
    out.add(
        {"retry_tokens", "tokens for retries after overload that are left, with adaptive_retries",
         gauge, Unit::count, kHidden, "tokens"},
        *budget.tokens);
}

bool TokenBucket::take() {
  return take_whole(tenths_, kToken);
}

void TokenBucket::deposit(std::int64_t tenths) {
  add_up_to(tenths_, tenths, capacity_);
}

std::uint32_t RetryBudget::live() const {
  std::uint32_t sum = 0;  // may miss or repeat a request that starts or ends now
  for (const auto& cell : cells_) sum += cell.live.get();
  return sum;
}

std::uint64_t RetryBudget::ended() const {
  std::uint64_t sum = 0;
  for (const auto& cell : cells_) sum += cell.ended.get();
  return sum;
}

void RetryBudget::take_over(const RetryBudget& before) {
  const auto owed = std::min<std::int64_t>(before.saved_.load(memory_order_relaxed), 0);
  const auto saved = static_cast<std::int64_t>(before.saved()) * kAttempt;
  saved_ = std::min(owed < 0 ? owed : saved, most_saved());
  for (std::size_t i = 0; i < hedges_.size(); ++i)
    hedges_[i] = before.hedges_[i].load(memory_order_relaxed);
}

std::int64_t RetryBudget::saved_or_owed() const {
  const auto added = added_up_.load(memory_order_relaxed);
  const auto all = ended();
  const auto more = all > added ? static_cast<std::int64_t>((all - added) * rules_.percent) : 0;
  return std::min(saved_.load(memory_order_relaxed) + more, most_saved());
}

std::uint32_t RetryBudget::saved() const {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(saved_or_owed(), 0) / kAttempt);
}

/// Adds the savings of the requests that ended since the last call.
void RetryBudget::add_up_ended() {
  const auto all = ended();
  auto before = added_up_.load(memory_order_relaxed);
  while (before < all && !added_up_.compare_exchange_weak(before, all, memory_order_relaxed))
    continue;
  if (before >= all) return;
  add_up_to(saved_, static_cast<std::int64_t>((all - before) * rules_.percent), most_saved());
  for (const auto after : {HedgeKind::after, HedgeKind::p95, HedgeKind::p99})
    add_up_to(hedges_[static_cast<std::size_t>(after)],
              static_cast<std::int64_t>((all - before) * hedge_share(after)), kMostHedges);
}

std::uint32_t RetryBudget::hedge_share(HedgeKind after) const {
  const auto most = after == HedgeKind::p95 ? 5U : after == HedgeKind::p99 ? 1U : rules_.percent;
  return std::min(rules_.percent, most);
}

std::optional<RetryBudget::RetryPermit> RetryBudget::take_hedge(HedgeKind after) {
  add_up_ended();
  auto& account = hedges_[static_cast<std::size_t>(after)];
  if (!take_whole(account, kAttempt)) {
    counted_->refused.fetch_add(1, memory_order_relaxed);
    return std::nullopt;
  }
  auto permit = take(For::other);
  if (!permit) add_up_to(account, kAttempt, kMostHedges);
  return permit;
}

std::uint32_t RetryBudget::most_extras() const {
  const auto share = std::uint64_t{live()} * rules_.percent / 100;
  return std::max(rules_.at_least,
                  static_cast<std::uint32_t>(std::min<std::uint64_t>(share, UINT32_MAX)));
}

bool RetryBudget::can_start_another() const {
  const std::int64_t unpaid = unpaid_.load(memory_order_relaxed);
  const auto to_come = std::int64_t{live()} * rules_.percent;  // in hundredths, too
  return unpaid == 0 || (unpaid + 1) * kAttempt <= saved_or_owed() + to_come;
}

std::optional<RetryBudget::RetryPermit> RetryBudget::take(For what, bool borrows) {
  add_up_ended();
  const bool none_wanted = rules_.percent == 0 && rules_.at_least == 0;
  if (none_wanted || !enter(what)) {
    counted_->refused.fetch_add(1, memory_order_relaxed);
    return std::nullopt;
  }
  if (what != For::proven && !spend(borrows)) {
    extras_.fetch_sub(1, memory_order_relaxed);
    counted_->refused.fetch_add(1, memory_order_relaxed);
    return std::nullopt;
  }
  if (what == For::proven) unpaid_.fetch_add(1, memory_order_relaxed);
  if (what == For::untried) untried_.fetch_add(1);
  counted_->given.fetch_add(1, memory_order_relaxed);
  return RetryPermit(*this, what);
}

bool RetryBudget::enter(For what) {
  if (what != For::other) {
    extras_.fetch_add(1, memory_order_relaxed);
    return true;
  }
  auto before = extras_.load(memory_order_relaxed);
  do {
    if (before >= most_extras()) return false;
  } while (!extras_.compare_exchange_weak(before, before + 1, memory_order_relaxed));
  return true;
}

bool RetryBudget::spend(bool borrows) {
  if (take_whole(saved_, kAttempt)) return true;
  if (borrows) saved_.fetch_sub(kAttempt, memory_order_relaxed);
  return borrows;
}

void RetryBudget::give_back(For what, bool succeeded) {
  extras_.fetch_sub(1, memory_order_relaxed);
  if (what == For::proven) {
    unpaid_.fetch_sub(1, memory_order_relaxed);
    if (!succeeded) saved_.fetch_sub(kAttempt, memory_order_relaxed);
    return;
  }
  if (succeeded) {
    add_up_ended();
    add_up_to(saved_, kAttempt, most_saved());
  }
  if (what != For::untried) return;
  // Last, so that who sees that none is in progress sees also what it has brought.
  if (!succeeded) losses_.fetch_add(1);
  untried_.fetch_sub(1);
}

}  // namespace karmad
