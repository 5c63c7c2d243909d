#pragma once

#include <memory>
#include <span>

#include "balancer/shard/attempt_chains.hpp"

namespace karmad {

class QuorumRead;

/// One query's request to one shard, as a state machine: each event returns the actions to do. It
/// decides which mirror is asked, when another one is (retries, hedges, quorum), what to wait for,
/// and whose answer counts. It has no socket, clock or random source; state shared by all requests
/// of a shard (retry budget, breaker, standings, marks) is passed with each event. A request with
/// one attempt allocates nothing. One thread. docs/decisions/017-shard-request.md
class ShardRequest : private AttemptChains {
 public:
  /// `rules` and the Protection of its moments must outlive it.
  explicit ShardRequest(const ShardRules& rules);
  ShardRequest& operator=(ShardRequest&&) = delete;
  ~ShardRequest();

  /// The first event is Started; after Finish only Rejected may come. Do the actions in order; they
  /// are valid until the next event. Without a Wait, only ends of attempts are awaited.
  std::span<const ShardAction> next(const ShardEvent& event, const ShardInputs& moment);

  /// The result, once it has finished.
  const ShardResult& result() const { return main_.end; }
  using AttemptChains::failed;  ///< attempts without an answer
  /// When other mirrors are asked besides the first; nothing: it is not hedged.
  const std::optional<HedgeRules>& hedging() const { return hedging_; }

  /// The suitable mirrors, with a free slot or one to wait for, that the attempts of this slot have
  /// not tried.
  Candidates untried(std::size_t slot, const ShardInputs& moment) const;

 private:
  void on(const event::Started&);
  void on(const event::AttemptEnded& ended) { attempt_ended(chain(ended.slot), ended.report); }
  void on(const event::MirrorUnreachable& now);
  void on(const event::TimePassed&) { proceed_waits(false); }
  void on(const event::SetChanged&) { proceed_waits(true); }
  void on(const event::SlotFreed& freed) { slot_freed(freed.mirror); }
  void on(const event::Cancelled&) { break_off_all(); }
  void on(const event::Rejected& rejected);
  void begin();
  void proceed();

  void decide_hedging();
  void run_race();
  void report_to_race();
  void hedge();
  void take_winner();

  std::optional<RetryBudget::InFlightPermit> in_flight_permit_;
  std::optional<HedgeRules> hedging_;
  std::optional<HedgePlan> race_;
  std::unique_ptr<QuorumRead> quorum_;
  bool finished_ = false;
};

}  // namespace karmad
