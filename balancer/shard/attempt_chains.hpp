#pragma once

#include <atomic>
#include <boost/container/small_vector.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "balancer/selection/mirror_choice.hpp"
#include "balancer/shard/shard_event.hpp"

namespace karmad {

/// Increments a counter of waiting requests while it lives, or what it was moved to.
class Waiting {
 public:
  explicit Waiting(std::atomic<std::uint32_t>& count)
      : before_(count.fetch_add(1, std::memory_order_relaxed)), count_(&count) {}
  std::uint32_t before() const { return before_; }

 private:
  struct Decrement {
    void operator()(std::atomic<std::uint32_t>* count) const {
      count->fetch_sub(1, std::memory_order_relaxed);
    }
  };
  std::uint32_t before_;
  std::unique_ptr<std::atomic<std::uint32_t>, Decrement> count_;
};

/// What is decided of the next attempt of a chain.
struct NextAttempt {
  AttemptReason reason = AttemptReason::initial;
  std::optional<std::size_t> wanted;  ///< its mirror, when a rule names it
  Micros pause{};                     ///< that is made before it
  Decision decision;                  ///< that waits for consent
};

/// The states of a chain, each with what lives only in it.
namespace chain_state {
struct Ended {};
struct Asks {};  ///< an attempt is in progress
struct WaitsForMirror {
  Waiting counted;
  TimePoint since{};
  TimePoint until{};  ///< checked again then, even without news
};
struct WaitsForSlot {
  Waiting counted;
  std::optional<Waiting> for_mirror;  ///< it waited for a mirror before
  TimePoint since{};
  Candidates slots;  ///< at any of these mirrors
};
/// An attempt of another request will show which mirrors work: registered for news of them.
struct WaitsForHealth {
  WaitsForHealth(SetHealth& news_of, std::atomic<std::uint32_t>& waiting)
      : counted(waiting), standings(news_of) {
    standings.wait_begins();
  }
  WaitsForHealth& operator=(WaitsForHealth&&) = delete;
  ~WaitsForHealth() { standings.wait_ends(); }
  Waiting counted;
  SetHealth& standings;
  TimePoint until{};
};
struct Pauses {
  TimePoint until{};
};
}  // namespace chain_state
using ChainState =
    std::variant<chain_state::Ended, chain_state::Asks, chain_state::WaitsForMirror,
                 chain_state::WaitsForSlot, chain_state::WaitsForHealth, chain_state::Pauses>;

/// A sequence of attempts of a shard request: the first attempt and its retries, or one hedge, or
/// one mirror of a quorum read.
struct AttemptChain {
  AttemptChain() {}  // NOLINT: with `= default` it would be filled with zeros first
  AttemptChain& operator=(AttemptChain&&) = delete;

  std::size_t slot = 0;
  std::size_t order = 0;  ///< order in which chains started
  ChainState state;
  bool retries = false;        ///< false: makes one attempt
  bool waits = false;          ///< waits for a suitable mirror
  bool cancelled = false;      ///< its attempt is being cancelled
  bool taken_in = false;       ///< its end was reported to the race or the quorum
  bool after_timeout = false;  ///< it was retried because of a timeout
  bool borrows = false;        ///< its retries may put the budget into debt
  Generation generation;       ///< of its answer
  ChainLearned memory;
  ShardResult end;
  /// What is left of `selection_timeout` for waiting for mirrors and connecting, over all attempts
  /// (SS-111). Nothing before the first selection, or if waiting is disabled.
  std::optional<Micros> selection_left;
  std::optional<RetryBudget::RetryPermit>
      retry_permit;  ///< of the attempt that is queued or under way
  std::optional<SetHealth::InFlightGuard> under_way;
  unsigned attempts = 0;

  NextAttempt upcoming;
  std::optional<std::uint64_t> losses_before;  ///< of the budget, when it could pay no more

  template <class State>
  bool is() const {
    return std::holds_alternative<State>(state);
  }
  bool ended() const { return is<chain_state::Ended>(); }
};

/// All chains of a shard request: selection, retries, pauses and waits. What they are for is
/// decided by others: the request itself for one chain or a race, QuorumRead for a quorum. Slot 0
/// is the first chain; its end becomes the request's.
class AttemptChains {
 public:
  explicit AttemptChains(const ShardRules& rules);
  AttemptChains& operator=(AttemptChains&&) = delete;

  // What a race or a quorum read may do. Only while an event is handled.

  /// Adds a chain in its slot; the former one there has ended. Slots follow each other.
  AttemptChain& add(std::unique_ptr<AttemptChain> chain);
  /// Starts the next attempt of a chain, or waits for a mirror, or ends the chain.
  void select(AttemptChain& chain);
  /// The same as a retry at once at a mirror that the chain has not tried, if the budget allows it.
  void retry_elsewhere(AttemptChain& chain);
  /// Makes the chain's end and reply those of the request.
  void take_over(const AttemptChain& chain);
  /// Takes over what the chain has learned of mirrors.
  void learn_from(const AttemptChain& chain);
  /// A mirror that the request asks again only if no other is suitable.
  void avoid(std::size_t mirror) { main_.memory.avoided.insert(mirror); }
  /// A chain asked no mirror: the request's refusal is the chain's.
  void take_refusal(const AttemptChain& chain) { main_.end.refused = chain.end.refused; }
  /// Ends the request with a refusal in place of its last failure.
  void refuse(Refusal why) {
    main_.end.outcome = Outcome::cancelled;
    main_.end.refused = std::move(why);
  }
  /// The first further attempt pays with what the retry of the whole request has paid.
  void pass_permit_to(AttemptChain& chain);
  /// Counts an attempt beside the first ones in `max_attempts`; false: there may be no more.
  bool may_ask_another() { return retries_.may_hedge(); }
  /// Has the mirrors pinged soon for their generations.
  void check_generations() { actions_.emplace_back(action::CheckMirrors{.generations = true}); }
  void count(Count what) const { moment_->counters.add(what); }

  const AttemptChain& first() const { return main_; }
  std::size_t further() const { return others_.size(); }  ///< number of slots after the first
  AttemptChain& chain(std::size_t slot) { return slot == 0 ? main_ : *others_[slot - 1]; }
  const AttemptChain& chain(std::size_t slot) const {
    return slot == 0 ? main_ : *others_[slot - 1];
  }
  MirrorChoice choice(const AttemptChain& chain) const { return {rules_, chain.memory, *moment_}; }
  TimePoint now() const { return moment_->now; }
  /// Cancelled, or the query must be planned again.
  bool is_over() const { return over_; }
  const ShardRules& rules() const { return rules_; }
  const ShardInputs& moment() const { return *moment_; }
  const std::vector<FailedAttempt>& failed() const { return failed_; }

 protected:
  ~AttemptChains() = default;

  // One chain (attempt_chains.cpp)
  void end_chain(AttemptChain& chain);
  void break_off(AttemptChain& chain, action::Cancel::Why why = action::Cancel::Why::not_needed);
  void break_off_all();
  bool all_ended() const;

  // The consequences of an attempt (after_attempt.cpp)
  void attempt_ended(AttemptChain& chain, AttemptReport& report);
  void reply_rejected(std::string why);
  Decision decide(const AttemptChain& chain, RetryLoop& retries, const AttemptReport& report,
                  TokenBucket* tokens, const ShardInputs& moment) const;
  bool acquire_retry_permit(AttemptChain& chain, RetryBudget::For what);
  /// The mirrors that attempts of any chain have been sent to.
  Candidates in_race() const;
  /// The mirrors for a retry of the chain at one that it has not tried: those with a free slot. If
  /// none is left, or only full ones are known to work, full ones too: it waits for a slot.
  PreferenceLevels untried_levels(const AttemptChain& chain, const ShardInputs& moment) const;

  // Waits
  void proceed_waits(bool news);
  void slot_freed(std::size_t mirror);
  void add_waits(action::Wait& wait) const;

  const ShardRules& rules_;
  const ShardInputs* moment_ = nullptr;  ///< of the current event
  RetryLoop retries_;
  AttemptChain main_;
  std::vector<std::unique_ptr<AttemptChain>>
      others_;  ///< slots from 1: hedges, or the mirrors of a quorum
  std::vector<FailedAttempt> failed_;
  boost::container::small_vector<ShardAction, 3> actions_;
  bool over_ = false;      ///< cancelled, or the query must be planned again
  bool rejected_ = false;  ///< a retry is prepared because the merge rejected the reply …
  bool restarts_ = false;  ///< … and may be made

 private:
  void log(action::Log what) { actions_.emplace_back(std::move(what)); }
  void log_failure(std::string why) {
    log({.what = action::Log::What::selection_failed, .why = std::move(why)});
  }
  std::optional<Pick> select_now(AttemptChain& chain);
  void send(AttemptChain& chain, const Pick& pick);
  Micros time_to_connect(const AttemptChain& chain, std::size_t mirror) const;

  void learn(AttemptChain& chain, const AttemptReport& report);
  Decision after_attempt(AttemptChain& chain, const AttemptReport& report);
  void apply(AttemptChain& chain, const Decision& next, const AttemptReport& report);
  Micros shortest_pause(Micros most) const;
  void note_behind(AttemptChain& chain, const AttemptReport& report);
  void add_failed(const AttemptChain& chain, std::string why);
  void retry(AttemptChain& chain, const Decision& next);
  bool has_proven(const AttemptChain& chain) const;
  bool has_newer_primary(const AttemptChain& chain) const;
  std::optional<std::size_t> serving_primary() const;
  void ask_elsewhere(AttemptChain& chain);
  bool repayment_to_come(AttemptChain& chain);
  bool wait_for_health(AttemptChain& chain);
  void return_token(Decision& next);
  void on_budget_decision(AttemptChain& chain, bool may, std::string_view why_not);
  void refuse_retry(AttemptChain& chain, std::string_view why);
  void log_no_retry(AttemptChain& chain, std::string_view why, Candidates unpaid);
  void explain_timeout(AttemptChain& chain, const AttemptReport& report);
  void continue_retry(AttemptChain& chain);
  void make_retry(AttemptChain& chain);

  void wait_for_slot(AttemptChain& chain);
  void select_for_slot(AttemptChain& chain);
  void refuse_slot(AttemptChain& chain, Refusal refusal);
  std::optional<Waiting> leave_wait(AttemptChain& chain);
  void wait_for_mirror(AttemptChain& chain);
  void select_again(AttemptChain& chain);
  void wait_for_change(AttemptChain& chain, Waiting counted);
  TimePoint selection_end(const AttemptChain& chain) const;
  void give_up_selection(AttemptChain& chain);
};

}  // namespace karmad
