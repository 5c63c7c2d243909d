#pragma once

#include <memory>
#include <span>
#include <vector>

#include "balancer/shard/attempt_lines.hpp"

namespace karmad {

class QuorumRead;

/// One query's request to one shard, as a machine: it takes one event at a time and says what is to
/// be done. It decides which mirror is asked, whether and when another one is (retries, hedges,
/// quorum), what is waited for, and whose answer counts. It has no socket, no clock and no random
/// source; what all requests of a shard share (retry budget, breaker, standings, marks) it asks
/// through the moment that each event comes with. A request with one attempt allocates nothing.
/// Belongs to one thread. docs/decisions/017-shard-request.md
class ShardRequest : private AttemptLines {
 public:
  /// `rules` outlive it, and so does the Protection of its moments.
  explicit ShardRequest(const ShardRules& rules);
  ShardRequest(const ShardRequest&) = delete;
  ShardRequest& operator=(const ShardRequest&) = delete;
  ~ShardRequest();

  /// The first event is Started; after Finish only Rejected may come. The actions are to be done in
  /// their order, and hold until the next event. Without a Wait only ends of attempts are awaited.
  std::span<const ShardAction> next(const ShardEvent& event, const ShardMoment& moment);

  /// How it ended, once it has finished.
  const ShardResult& result() const { return main_.end; }
  /// Attempts that did not answer.
  const std::vector<FailedAttempt>& failed() const { return failed_; }
  /// When other mirrors are asked beside the first; nothing: it is not hedged.
  const std::optional<HedgeRules>& hedging() const { return hedging_; }

  /// Whether another attempt would follow if the one in this slot ended so. Changes nothing.
  bool would_repeat(std::size_t slot, const AttemptReport& report, const ShardMoment& moment) const;
  /// The mirrors that suit and are not full, which the attempts of this slot have not tried.
  Candidates untried(std::size_t slot, const ShardMoment& moment) const;

 private:
  void take(const event::Started&);
  void take(const event::AttemptEnded& ended) { attempt_ended(line(ended.slot), ended.report); }
  void take(const event::TimePassed&) { look_again(false); }
  void take(const event::News&) { look_again(true); }
  void take(const event::SlotFreed& freed) { slot_freed(freed.mirror); }
  void take(const event::Cancelled&) { break_off_all(); }
  void take(const event::Rejected& rejected);
  void begin();
  void proceed();

  void decide_hedging();
  void run_race();
  void tell_race();
  void hedge();
  void take_winner();

  std::optional<RetryBudget::InFlightPermit> in_flight_permit_;
  std::optional<HedgeRules> hedging_;
  std::optional<HedgePlan> race_;
  std::unique_ptr<QuorumRead> quorum_;
  bool finished_ = false;
};

}  // namespace karmad
