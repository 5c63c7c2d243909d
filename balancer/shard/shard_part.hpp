#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "balancer/core/query.hpp"
#include "balancer/core/rest_of_reply.hpp"
#include "balancer/rules/generation.hpp"
#include "balancer/rules/hedge_plan.hpp"
#include "balancer/rules/retry_budget.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "balancer/shard/selection.hpp"

namespace karmad {

/// One attempt that did not answer: which mirror, and why.
struct FailedTry {
  const Mirror* mirror;
  std::string why;
};

/// How a query is put to its shards; the same for all of them.
struct ShardOrder {
  const Table& table;
  const Dialect& dialect;
  const Parsed& parsed;
  const FanOut* plan;  ///< none: the client's own request goes out
  const Selection& selection;
};

/// Whether the mirrors of a shard have to agree on the answer; searches only (CO-070).
inline bool by_quorum(const Query& query, const ShardOrder& order) {
  return order.parsed.read && !order.parsed.follow_up &&
         query.consistency.value_or(order.table.consistency) == Consistency::quorum;
}

/// The part of a query that goes to one shard, and how it ended; or one hedge of it.
struct ShardPart {
  ShardPart() {}  // NOLINT: with `= default` it would be filled with zeros first

  const Shard* shard = nullptr;
  unsigned number = 1;  ///< of the shard, for the trace
  Candidates tried;
  Candidates avoided;           ///< taken only when no other mirror suits
  Candidates left;              ///< zones that it left; avoided, but rather than `avoided` taken
  Candidates excluded;          ///< not taken at all
  Candidates behind;            ///< said that they have not seen yet what the client has
  ToldGenerations generations;  ///< that mirrors told in error answers
  bool waits = true;            ///< for a suitable mirror; a hedge does not
  /// Mirrors that are gone as this query found out, and when; until a later ping says otherwise.
  std::vector<std::pair<std::size_t, TimePoint>> gone;
  /// What is left of `selection_timeout` for waiting for mirrors and connecting to them, in all its
  /// attempts (SS-111); nothing before the first selection, and where waiting is off.
  std::optional<Micros> selection_left;
  std::optional<RetryLoop> retries;
  std::optional<RetryBudget::Live> live;
  std::optional<RetryBudget::Extra> extra;  ///< of the attempt that is queued or under way
  Advice advice;                            ///< in the last error answer
  std::optional<HedgeRules> hedging;        ///< when other mirrors are asked beside it
  unsigned attempts = 0;

  // Of the next attempt:
  AttemptReason reason = AttemptReason::initial;
  Reason retry_reason = Reason::retry;  ///< of a retry, as the rules call it
  std::optional<std::size_t> wanted;    ///< its mirror, when a rule names it
  Candidates among;                     ///< its mirror is one of these, while one suits; empty: any
  Micros pause{};                       ///< that was made before it

  Outcome outcome = Outcome::cancelled;
  unsigned status = 0;  ///< of the last answer
  unsigned sub_status = 0;
  int report = 0;                     ///< the status to report instead, if not 0 (CO-056)
  bool timed_out = false;             ///< a time-out is why it has no answer
  Mirror* mirror = nullptr;           ///< the last one asked
  Reply reply;                        ///< when answered, or when the agent refused with an answer
  std::unique_ptr<RestOfReply> rest;  ///< of a long one; null: it is whole
  /// An answer that is not entered into the mirror's history yet: merging it may show it broken.
  std::optional<AttemptEnd> unsettled;
  std::vector<FailedTry> failed;
  /// No mirror was selected, and no attempt failed before; or too much waits for a helper thread.
  std::optional<Refusal> refused;

  Stop* stop = nullptr;    ///< of what it waits for now
  bool cancelled = false;  ///< another one's answer counts
  bool outrun = false;     ///< … which was asked later

  bool answered() const {
    return outcome == Outcome::answered || outcome == Outcome::answered_with_warning;
  }
  /// Ends it, whatever it does.
  void cancel() {
    cancelled = true;
    if (stop != nullptr) stop->request(Why::cancelled);
  }
  bool over(const Query& query) const { return query.stopped || cancelled; }
};

/// What passes through the handles of one shard: a part of a query, how the query is put to all of
/// its shards, and the query.
struct ShardCall {
  Query& query;
  const ShardOrder& order;
  ShardPart& part;
};

/// A wait of a part: it ends when the query is stopped, and when the part is.
class PartStop {
 public:
  PartStop(Query& query, ShardPart& part) : part_(part), stop_(query) {
    part.stop = &static_cast<Stop&>(stop_);
    if (part.cancelled) part.stop->request(Why::cancelled);
  }
  PartStop(const PartStop&) = delete;
  PartStop& operator=(const PartStop&) = delete;
  ~PartStop() { part_.stop = nullptr; }
  operator Stop&() { return stop_; }  // NOLINT: it is one

 private:
  ShardPart& part_;
  QueryStop stop_;
};

}  // namespace karmad
