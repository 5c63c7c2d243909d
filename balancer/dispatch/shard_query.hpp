#pragma once

#include <string>
#include <vector>

#include "balancer/dispatch/selection.hpp"

namespace karmad {

/// One attempt that did not answer: which mirror, and why.
struct FailedTry {
  const Mirror* mirror;
  std::string why;
};

/// The part of a query that goes to one shard, and how it ended.
struct ShardPart {
  const Shard* shard = nullptr;
  Candidates tried;
  unsigned retries = 0;
  Outcome outcome = Outcome::cancelled;
  bool timed_out = false;    ///< a time-out is why it has no answer
  Mirror* mirror = nullptr;  ///< the last one asked
  Reply reply;               ///< when answered, or when the agent refused with an answer
  /// An answer that is not entered into the mirror's history yet: merging it may show it broken.
  std::optional<AttemptEnd> unsettled;
  std::vector<FailedTry> failed;
  /// Mirrors that are gone as this query found out, and when; until a later ping says otherwise.
  std::vector<std::pair<std::size_t, TimePoint>> gone;
  std::optional<TimePoint> select_until;  ///< the end of all waiting for mirrors (SS-111)
  std::optional<Refusal> refused;         ///< no mirror was selected, and no attempt failed before

  bool answered() const {
    return outcome == Outcome::answered || outcome == Outcome::answered_with_warning;
  }
};

/// How a query is put to its shards; the same for all of them.
struct ShardOrder {
  const Table& table;
  const Dialect& dialect;
  const Parsed& parsed;
  const FanOut* plan;  ///< none: the client's own request goes out
  const Selection& selection;
};

/// Asks the shard's mirrors one after the other until one has answered, nothing more may be tried,
/// or the query is over. May be called again for the same part (a reply that could not be merged).
Task<void> ask_shard(Query& query, const ShardOrder& order, ShardPart& part);

/// The reply of an answered part could not be merged: its mirror sent something useless. True when
/// the rules of retries allow another mirror to be asked; ask_shard() does that.
bool reject(Query& query, const ShardOrder& order, ShardPart& part, std::string why);

/// Enters what is still unsettled and gives the buffers of the part back.
void settle(Query& query, ShardPart& part);

}  // namespace karmad
