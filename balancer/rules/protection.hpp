#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "agent/health/state.hpp"
#include "balancer/rules/breaker.hpp"
#include "balancer/rules/error_texts.hpp"
#include "balancer/rules/generation.hpp"
#include "balancer/rules/outlier_ejection.hpp"
#include "balancer/rules/retry_budget.hpp"
#include "balancer/rules/standings.hpp"

namespace karmad {

/// Mirrors that should not be used for this shard for a while (CO-030, CO-033, CO-036). A mirror
/// may have both kinds of mark. Relaxed atomics: any thread.
class UnavailableMarks {
 public:
  explicit UnavailableMarks(std::size_t mirrors) : marks_(mirrors) {}
  /// Takes over the marks of mirrors that existed before.
  void take_over(const UnavailableMarks& before, const FormerPlaces& places) {
    for_each_former(places, [&](std::size_t now, std::size_t then) {
      marks_[now].since = before.marks_[then].since.load(std::memory_order_relaxed);
      marks_[now].until = before.marks_[then].until.load(std::memory_order_relaxed);
      marks_[now].paused_until = before.marks_[then].paused_until.load(std::memory_order_relaxed);
    });
    any_ = before.any();
  }

  /// The mirror is being removed or unreachable: for that time, or until a ping says that it
  /// serves.
  void mark(std::size_t mirror, TimePoint now, Micros how_long) {
    marks_[mirror].since.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    marks_[mirror].until.store((now + how_long).time_since_epoch().count(),
                               std::memory_order_relaxed);
    any_.store(true, std::memory_order_relaxed);
  }
  /// The mirror serves, but asked for a pause (Retry-After): no ping ends that.
  void mark_paused(std::size_t mirror, TimePoint now, Micros how_long) {
    marks_[mirror].paused_until.store((now + how_long).time_since_epoch().count(),
                                      std::memory_order_relaxed);
    any_.store(true, std::memory_order_relaxed);
  }
  /// The rest of both marks of a mirror; 0: it has none.
  struct Rest {
    Micros unavailable{};
    Micros paused{};
    bool operator==(const Rest&) const = default;
  };
  Rest rest(std::size_t mirror, TimePoint now) const {
    const auto at = now.time_since_epoch().count();
    const auto rest = [&](const std::atomic<std::int64_t>& until) {
      return Micros{std::max<std::int64_t>(until.load(std::memory_order_relaxed) - at, 0)};
    };
    return {rest(marks_[mirror].until), rest(marks_[mirror].paused_until)};
  }

  /// Whether any mirror was ever marked; one load.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  /// The mirrors with a mark in force. A later ping that says that the mirror serves ends the first
  /// kind of mark, if pings of this kind report a state (`describes`).
  Candidates marked(const SetDescription& picture, bool describes, TimePoint now) const {
    Candidates marked;
    const auto at = now.time_since_epoch().count();
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      if (marks_[i].paused_until.load(std::memory_order_relaxed) > at) marked.insert(i);
      if (marks_[i].until.load(std::memory_order_relaxed) <= at) continue;
      const auto since = marks_[i].since.load(std::memory_order_relaxed);
      const auto& facts = picture.mirrors[i];
      const bool said_otherwise = describes && facts.role != Role::unknown &&
                                  facts.updated.time_since_epoch().count() > since;
      if (!said_otherwise) marked.insert(i);
    }
    return marked;
  }

 private:
  struct Mark {
    std::atomic<std::int64_t> since{0};  // µs of the process's clock
    std::atomic<std::int64_t> until{0};
    std::atomic<std::int64_t> paused_until{0};
  };
  std::vector<Mark> marks_;
  std::atomic<bool> any_{false};
};

struct ProtectionRules {
  RetryBudgetRules budget;
  std::optional<BreakerRules> breaker;   ///< none: disabled
  std::optional<OutlierRules> outliers;  ///< likewise
  bool operator==(const ProtectionRules&) const = default;
};

/// Protects the mirrors of one shard from additional load; shared by all workers.
struct Protection {
  Protection(std::size_t mirrors, const ProtectionRules& rules, unsigned workers = 1)
      : budget(rules.budget, workers),
        unavailable(mirrors),
        behind(mirrors),
        standings(mirrors),
        answered(workers) {
    if (rules.breaker) breaker.emplace(mirrors, *rules.breaker);
    if (rules.outliers) outliers.emplace(mirrors, *rules.outliers);
  }

  /// Takes over from `before` what is known of mirrors that existed before, and the saved retries,
  /// under the new rules. Call before it is used; concurrent changes of `before` may be lost.
  void take_over(const Protection& before, const FormerPlaces& places) {
    budget.take_over(before.budget);
    tokens.take_over(before.tokens);
    if (breaker && before.breaker) breaker->take_over(*before.breaker, places);
    if (outliers && before.outliers) outliers->take_over(*before.outliers, places);
    unavailable.take_over(before.unavailable, places);
    behind.take_over(before.behind, places);
    standings.take_over(before.standings, places);
    answered.take_over(before.answered);
    error_texts.take_over(before.error_texts);
    crashing.take_over(before.crashing);
  }
  /// Only one of the shards that replace a shard does so, else sums would contain it twice.
  void continue_counts(const Protection& before) {
    budget.continue_counts(before.budget);
    if (outliers && before.outliers) outliers->continue_counts(*before.outliers);
  }

  RetryBudget budget;
  alignas(64) TokenBucket tokens;  // written by every request once overload was seen
  std::optional<Breaker> breaker;
  std::optional<OutlierEjection> outliers;
  UnavailableMarks unavailable;
  BehindMarks behind;
  SetHealth standings;
  AnsweredQueries answered;
  ErrorTexts error_texts;
  CrashingRequests crashing;
};

}  // namespace karmad
