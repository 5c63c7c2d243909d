#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "agent/stats/single_writer.hpp"
#include "agent/stats/stats_writer.hpp"
#include "config/settings.hpp"

namespace karmad {

/// The tokens that retries because of overload spend (BP-020 … BP-026): one bucket per mirror set,
/// full at first, shared by all workers. Fractions count, hence tenths.
class TokenBucket {
 public:
  static constexpr std::uint32_t kCapacity = 1000;  ///< BP-021

  explicit TokenBucket(std::uint32_t capacity = kCapacity)
      : capacity_(std::int64_t{capacity} * kToken), tenths_(capacity_) {}

  void first_attempt_succeeded() { deposit(1); }             ///< 0.1 (BP-022)
  void retry_succeeded() { deposit(kToken + 1); }            ///< 1.1 (BP-023)
  void retry_failed_without_overload() { deposit(kToken); }  ///< 1 (BP-024)
  /// As full as that one was.
  void take_over(const TokenBucket& before) { tenths_ = std::min(before.tenths(), capacity_); }
  /// Takes one token; false, and nothing is taken, when there is none (BP-025).
  bool take();

  std::int64_t tenths() const { return tenths_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t kToken = 10;
  void deposit(std::int64_t tenths);

  const std::int64_t capacity_;
  std::atomic<std::int64_t> tenths_;
};

struct RetryBudgetRules {
  /// Of the live requests.
  std::uint32_t percent = kDefaultSettings.retry_budget_percent.value;
  /// Extra attempts in flight, however few requests are live.
  std::uint32_t at_least = kDefaultSettings.retry_budget_min.value;
  std::uint32_t saved = 10;  ///< extra attempts that quiet times may save up
  bool operator==(const RetryBudgetRules&) const = default;
};

/// How far a retry budget is used, at one moment.
struct RetryBudgetStatus {
  std::uint32_t live = 0;    ///< requests under way
  std::uint32_t extras = 0;  ///< retries and hedges queued or under way
  std::uint32_t saved = 0;   ///< further ones that quiet times have saved up
  std::uint64_t given = 0;   ///< since the start
  std::uint64_t refused = 0;
};
void write(StatsWriter& out, const RetryBudgetStatus& budget);

/// How many attempts beyond the first of each request a mirror set bears: retries and hedges of all
/// workers together. A retry onto a mirror that works (retry_target.hpp says which do) needs
/// no consent, but is paid for afterwards if it fails, on credit if it must be. Any other
/// extra attempt needs the consent of two accounts. Where many requests fail at one moment the free
/// retries go out in turns (bears_another()): the first ones show whether the mirrors still work.
///
/// *In flight*: there are at most `percent` of the live requests, and `at_least`, at a time. That
/// holds extra attempts back while they are slow, but requests that fail fast leave few in flight
/// and would pass. A retry at once at a mirror not asked yet needs no consent here: it may be what
/// saves the query, and the second account bounds it.
///
/// *Saved up*: each request that ends adds `percent` of an attempt to what is saved, up to `saved`;
/// an extra attempt takes one out, and brings it back when it succeeds. So a set of which nothing
/// succeeds sees, over any stretch in which n requests end, at most `percent` × n + `saved` extra
/// attempts, however fast it fails and however few requests there are; and while it is about to
/// fail, those onto mirrors that were thought to work.
///
/// Any thread may call. The two accounts are looked at one after the other, which at worst refuses
/// an attempt that would just have been allowed. Requests are counted by each worker for itself, so
/// that one which needs no retry costs no locked instruction; what they save is added up when
/// a retry asks for it.
class RetryBudget {
  /// One worker's requests.
  struct alignas(64) Cell {
    SingleWriter<std::uint32_t> live;
    SingleWriter<std::uint64_t> ended;
  };

 public:
  explicit RetryBudget(const RetryBudgetRules& rules = {}, unsigned workers = 1)
      : rules_(rules), cells_(workers), saved_(rules.saved * kAttempt) {}
  RetryBudget(const RetryBudget&) = delete;
  RetryBudget& operator=(const RetryBudget&) = delete;

  /// What was saved up, or is owed, under other rules. Before it is in use.
  void take_over(const RetryBudget& before);

  /// One live request of a worker, for as long as it lives, on the worker's thread.
  class InFlightPermit {
   public:
    explicit InFlightPermit(RetryBudget& budget, unsigned worker = 0)
        : cell_(&budget.cells_[worker]) {
      cell_->live.add(1);
    }
    InFlightPermit(InFlightPermit&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
    InFlightPermit& operator=(InFlightPermit&&) = delete;
    ~InFlightPermit() {
      if (cell_ == nullptr) return;
      cell_->live.add(static_cast<std::uint32_t>(-1));
      cell_->ended.add(1);
    }

   private:
    Cell* cell_;
  };

  /// One extra attempt, from when it is queued until it has ended.
  class RetryPermit {
   public:
    RetryPermit(RetryPermit&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          paid_(other.paid_),
          succeeded_(other.succeeded_) {}
    RetryPermit& operator=(RetryPermit&&) = delete;
    ~RetryPermit() {
      if (budget_ != nullptr) budget_->give_back(paid_, succeeded_);
    }
    /// It answered what its request asked for.
    void succeeded() { succeeded_ = true; }

   private:
    friend RetryBudget;
    RetryPermit(RetryBudget& budget, bool paid) : budget_(&budget), paid_(paid) {}
    RetryBudget* budget_;
    bool paid_;
    bool succeeded_ = false;
  };

  enum class For : std::uint8_t {
    proven,   ///< a retry onto a mirror that works
    untried,  ///< a retry at once at a mirror this request has not asked yet
    other,    ///< further retries, and hedges
  };
  /// Whether another retry may go out while as many onto mirrors that work are under way: all that
  /// are could be paid for if they failed, or there is none. Else one that ends soon will tell.
  bool bears_another() const;
  /// To be called when the extra attempt is queued, before its pause; nothing: not to be made.
  std::optional<RetryPermit> take(For what);
  /// Whether take() would give one now. For hedges that are only worth preparing then.
  bool may_take() const { return saved() >= 1 && extras() < most_extras(); }

  std::uint32_t live() const;
  std::uint32_t extras() const { return extras_.load(std::memory_order_relaxed); }
  std::uint32_t most_extras() const;
  std::uint32_t saved() const;  ///< whole attempts; 0 also while it is in debt
  std::uint64_t given() const { return given_.load(std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  RetryBudgetStatus status() const { return {live(), extras(), saved(), given(), refused()}; }

 private:
  static constexpr std::int64_t kAttempt = 100;  // what is saved is counted in hundredths
  std::int64_t most_saved() const { return rules_.saved * kAttempt; }
  std::uint64_t ended() const;
  std::int64_t saved_or_owed() const;
  void add_up_ended();
  void give_back(bool paid, bool succeeded);
  void save(std::int64_t hundredths);
  bool spend();
  bool enter(For what);

  const RetryBudgetRules rules_;
  std::vector<Cell> cells_;
  std::atomic<std::uint64_t> added_up_{0};  // of the ended requests
  std::atomic<std::uint32_t> extras_{0};
  std::atomic<std::uint32_t> unpaid_{0};  // of them, those that are only paid for if they fail
  std::atomic<std::int64_t> saved_;
  std::atomic<std::uint64_t> given_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace karmad
