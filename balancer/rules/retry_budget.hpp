#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/stats/single_writer.hpp"
#include "agent/stats/stats_writer.hpp"
#include "balancer/rules/hedge_plan.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// The tokens for retries of overload errors (BP-020 … BP-026): one bucket per mirror set,
/// initially full, shared by all workers. Counted in tenths.
class TokenBucket {
 public:
  static constexpr std::uint32_t kCapacity = 1000;  ///< BP-021

  explicit TokenBucket(std::uint32_t capacity = kCapacity)
      : capacity_(std::int64_t{capacity} * kToken), tenths_(capacity_) {}

  void first_attempt_succeeded() { deposit(1); }             ///< 0.1 (BP-022)
  void retry_succeeded() { deposit(kToken + 1); }            ///< 1.1 (BP-023)
  void retry_failed_without_overload() { deposit(kToken); }  ///< 1 (BP-024)
  /// Copies the number of tokens from `before`.
  void take_over(const TokenBucket& before) { tenths_ = std::min(before.tenths(), capacity_); }
  /// Takes one token; false if there is none (BP-025).
  bool take();
  /// The retry is not made: nothing was asked of a mirror.
  void give_back() { deposit(kToken); }

  std::int64_t tenths() const { return tenths_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t kToken = 10;
  void deposit(std::int64_t tenths);

  const std::int64_t capacity_;
  std::atomic<std::int64_t> tenths_;
};

struct RetryBudgetRules {
  /// Percentage of the live requests.
  std::uint32_t percent = kDefaultSettings.retry_budget_percent.value;
  /// Extra attempts in flight that are allowed with any number of live requests.
  std::uint32_t at_least = kDefaultSettings.retry_budget_min.value;
  std::uint32_t saved = 10;  ///< most extra attempts that can be saved up
  /// Most of one request, if more are configured: when the savings are whole, by debt.
  std::uint32_t of_one_request = 10;
  bool operator==(const RetryBudgetRules&) const = default;
};

/// The use of a retry budget at one moment.
struct RetryBudgetStatus {
  std::uint32_t live = 0;    ///< requests in progress
  std::uint32_t extras = 0;  ///< retries and hedges queued or in progress
  std::uint32_t saved = 0;   ///< further attempts saved up
  std::uint64_t given = 0;   ///< granted since the start
  std::uint64_t refused = 0;
  std::optional<std::uint64_t> tokens;  ///< whole ones of the set's bucket, with adaptive_retries
};
void write(StatsWriter& out, const RetryBudgetStatus& budget);

/// Limits the attempts beyond the first of each request at a mirror set: retries and hedges of all
/// workers together. A retry onto a working mirror (see retry_target()) is always allowed, and is
/// paid for afterwards if it fails, if necessary by debt. All other extra attempts need two
/// accounts to agree. If many requests fail at the same moment, free retries are sent in turns
/// (can_start_another()): the first ones show whether the mirrors still work.
///
/// *In flight*: at most `percent` of the live requests, and `at_least`, at a time. This limits slow
/// extra attempts; requests that fail fast leave few in flight and would pass. An immediate retry
/// at a mirror not asked yet is exempt from this account: it may save the query, and the second
/// account limits it.
///
/// *Saved*: each ended request adds `percent` of an attempt, up to `saved`; an extra attempt takes
/// one and returns it when it succeeds. So a set that answers nothing gets, over any period in
/// which n requests end, at most `percent` × n + `saved` extra attempts, for any speed of failure
/// and number of requests; and at the start of a failure those onto mirrors that were believed to
/// work.
///
/// Any thread. The two accounts are checked one after the other, so an attempt may be
/// refused that one check of both would allow. Each worker counts its requests itself, so a request
/// without a retry needs no locked instruction; take() sums what they have saved.
class RetryBudget {
  /// The requests of one worker.
  struct alignas(64) Cell {
    SingleWriter<std::uint32_t> live;
    SingleWriter<std::uint64_t> ended;
  };
  struct Counted {
    std::atomic<std::uint64_t> given{0};
    std::atomic<std::uint64_t> refused{0};
  };

 public:
  explicit RetryBudget(const RetryBudgetRules& rules = {}, unsigned workers = 1)
      : rules_(rules), cells_(workers), saved_(rules.saved * kAttempt) {
    for (auto& account : hedges_) account = kMostHedges;
  }
  RetryBudget& operator=(RetryBudget&&) = delete;

  /// Takes over savings or debt under new rules. Call before it is used; so with the next.
  void take_over(const RetryBudget& before);
  /// Goes on with the counters of `before`: requests that still use that count in both.
  void continue_counts(const RetryBudget& before) { counted_ = before.counted_; }

  /// Counts one live request of a worker while it lives; on the worker's thread.
  class InFlightPermit {
   public:
    explicit InFlightPermit(RetryBudget& budget, unsigned worker = 0)
        : cell_(budget.cells_[worker]) {
      cell_.live.add(1);
    }
    InFlightPermit& operator=(InFlightPermit&&) = delete;
    ~InFlightPermit() {
      cell_.live.add(static_cast<std::uint32_t>(-1));
      cell_.ended.add(1);
    }

   private:
    Cell& cell_;
  };

  enum class For : std::uint8_t {
    proven,   ///< a retry onto a working mirror
    untried,  ///< an immediate retry at a mirror this request has not asked yet
    other,    ///< further retries, and hedges
  };

  /// Counts one extra attempt from queueing to its end.
  class RetryPermit {
   public:
    RetryPermit(RetryPermit&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          what_(other.what_),
          succeeded_(other.succeeded_) {}
    RetryPermit& operator=(RetryPermit&&) = delete;
    ~RetryPermit() {
      if (budget_ != nullptr) budget_->give_back(what_, succeeded_);
    }
    /// The attempt got a valid answer for its request.
    void succeeded() { succeeded_ = true; }

   private:
    friend RetryBudget;
    RetryPermit(RetryBudget& budget, For what) : budget_(&budget), what_(what) {}
    RetryBudget* budget_;
    For what_;
    bool succeeded_ = false;
  };

  /// Whether another retry onto a working mirror may start: if all those in flight could be paid
  /// for after a failure, or there are none. If not, wait for one of them to end.
  bool can_start_another() const;
  /// Called when the extra attempt is queued, before its pause; nothing: refused.
  std::optional<RetryPermit> take(For what, bool borrows = false);
  /// Whether a request that takes now may go on with debt: it is the only one that retries, and
  /// more retries are configured than can be saved up. Others then wait until that is paid back.
  bool may_borrow() const {
    return rules_.saved > 0 && rules_.of_one_request > rules_.saved && saved() == rules_.saved;
  }
  /// The same for a hedge, which needs a third account: what it takes there stays taken, as a hedge
  /// that wins is load as well (docs/decisions/046-load-of-hedges.md).
  std::optional<RetryPermit> take_hedge(HedgeSetting::Kind after);
  /// Whether a retry in progress may return what it has taken, so that a query that can pay nothing
  /// waits for its end. `losses`: losses() when that wait began. A loss since then ends the wait: a
  /// set in which nothing works keeps no query waiting for long.
  bool may_be_repaid(std::uint64_t losses) const {
    return untried_.load() != 0 && losses == losses_.load();
  }
  std::uint64_t losses() const { return losses_.load(); }
  /// Whether an attempt that is not needed may be made.
  bool is_half_full() const { return saved() * 2 >= rules_.saved; }

  std::uint32_t live() const;
  std::uint32_t extras() const { return extras_.load(std::memory_order_relaxed); }
  std::uint32_t most_extras() const;
  std::uint32_t saved() const;  ///< whole attempts; 0 also with a debt
  std::uint64_t given() const { return counted_->given.load(std::memory_order_relaxed); }
  std::uint64_t refused() const { return counted_->refused.load(std::memory_order_relaxed); }
  RetryBudgetStatus status() const { return {live(), extras(), saved(), given(), refused()}; }

 private:
  static constexpr std::int64_t kAttempt = 100;  // savings are counted in hundredths of an attempt
  static constexpr std::int64_t kMostHedges = 10 * kAttempt;
  /// What an ended request saves of a hedge, in percent: `percent`, of those after p95 at most one
  /// in twenty, of those after p99 one in a hundred.
  std::uint32_t hedge_share(HedgeSetting::Kind after) const;
  std::int64_t most_saved() const { return rules_.saved * kAttempt; }
  std::uint64_t ended() const;
  std::int64_t saved_or_owed() const;
  void add_up_ended();
  void give_back(For what, bool succeeded);
  bool spend(bool borrows);
  bool enter(For what);

  const RetryBudgetRules rules_;
  std::vector<Cell> cells_;
  std::atomic<std::uint64_t> added_up_{0};  // ended requests already added to `saved_`
  std::atomic<std::uint32_t> extras_{0};
  std::atomic<std::uint32_t> unpaid_{0};  // part of `extras_` that is paid for only after a failure
  std::atomic<std::uint32_t> untried_{0};  // part of `extras_`: For::untried
  std::atomic<std::uint64_t> losses_{0};   // of these, the ones that failed
  std::atomic<std::int64_t> saved_;
  std::array<std::atomic<std::int64_t>, 4> hedges_;  // by HedgeSetting::Kind
  std::shared_ptr<Counted> counted_ = std::make_shared<Counted>();
};

}  // namespace karmad
