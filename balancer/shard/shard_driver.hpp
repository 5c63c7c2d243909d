#pragma once

#include <boost/container/small_vector.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/mirrors/queued_wait.hpp"
#include "balancer/selection/set_mirrors.hpp"
#include "balancer/shard/mirror_attempt.hpp"
#include "balancer/shard/shard_request.hpp"

namespace karmad {

/// Executes the actions of one shard request: sends attempts, waits, and reports events. Holds the
/// reply at the end. Runs on the worker of its query.
class ShardDriver final : private SetMirrors, private AttemptOwner {
 public:
  /// `number`: of the shard in its table, from 1; `only`: the one mirror to ask, in any role. All
  /// arguments must outlive it.
  ShardDriver(Query& query, const ShardQuery& shard_query, const Shard& shard, unsigned number,
              std::optional<std::size_t> only = std::nullopt);
  ShardDriver(const ShardDriver&) = delete;
  ShardDriver& operator=(const ShardDriver&) = delete;

  /// Does all that needs no wait, and returns what to await before the next call; nothing: the
  /// request has ended. (It is no coroutine itself, because a plain request is one attempt, which
  /// the caller can await directly.)
  std::optional<Task<void>> next();

  /// The reply could not be merged. Continue with next(), possibly at another mirror.
  void reject(std::string why);
  /// Ends it in any state.
  void cancel();
  /// Records the outstanding results of mirrors, and returns buffers.
  void record_and_release();

  const Shard& shard() const { return place_.shard; }
  /// Position of the shard in its table, from 0.
  std::size_t shard_at() const { return place_.shard_number - 1; }
  const ShardResult& result() const { return request_.result(); }
  bool answered() const { return !is_mistake_ && result().answered(); }
  Outcome outcome() const { return is_mistake_ ? Outcome::client_mistake : result().outcome; }
  /// Whether a mirror was sent the request.
  bool has_sent() const { return first_.mirror != nullptr; }
  /// Mirrors of several shards agree that the query is at fault.
  void take_as_mistake() { is_mistake_ = true; }
  Reply& reply();
  /// The unread rest of a long reply; null: it is complete.
  std::unique_ptr<ResponseStream>& rest();
  /// The mirror whose answer counts; empty: there is none.
  std::string_view mirror_name() const {
    return result().mirror ? name(*result().mirror) : std::string_view();
  }
  /// Appends all mirrors that were tried and did not answer, with the reasons.
  void append_failed(std::string& text) const;
  /// The name of the mirror that was asked last, or is the only one to ask; empty: none was chosen.
  std::string shown_mirror() const {
    const auto mirror = rules_.only ? rules_.only : result().mirror;
    return mirror ? shown_name(*mirror) : std::string();
  }

 private:
  /// An attempt; after it, its result.
  struct Slot {
    std::optional<AttemptResult> result;
    std::optional<MirrorAttempt> attempt;
    std::unique_ptr<ResponseStream> rest;
    std::size_t number = 0;
    Mirror* mirror = nullptr;
    bool unrecorded = false;               ///< not recorded yet: merging may find errors
    std::optional<std::size_t> explained;  ///< number of its choice in the query's explanation
  };

  void handle(const ShardEvent& event, TimePoint now);
  void carry_out(const action::Send& send);
  void carry_out(const action::Cancel& cancel) {
    slot(cancel.slot).attempt->cancel(cancel.lost_race);
  }
  void carry_out(const action::NotifyWaiters&) { set_.wake_waiters(); }
  void carry_out(const action::CheckMirrors& check) {
    check.generations ? set_.check_generations() : set_.check_now();
  }
  void carry_out(const action::Wait& wait) { wait_ = wait; }
  void carry_out(const action::Log& log);
  void carry_out(const action::Finish&) { finish(); }
  void handle_waited_for();
  void begin_attempts();
  Task<void> run_attempt(Slot& slot);
  void end_attempt(Slot& slot);
  Task<void> wait();
  void wait_ended();
  void finish();
  void record_and_release(Slot& slot) {
    if (slot.result) record_used(slot);
  }
  void record_used(Slot& slot);
  void log_retry(const action::Send& send);
  ExplainedChoice* explain_choice(ExplainRecord& record) const;
  ExplainedChoice* explain_unchosen(ExplainRecord& record, const SelectionCriteria& criteria);
  void explain_refusal(std::string_view why);
  void tell_refused_retry(const SelectionCriteria& excluded, std::string_view why);
  void explain_attempt(Slot& slot, const action::Send& send);
  void explain_end(const Slot& slot, const AttemptReport& report) const;
  bool is_over() const { return place_.query.stopped || cancelled_; }
  Slot& slot(std::size_t number) { return number == 0 ? first_ : other_slot(number); }
  Slot& other_slot(std::size_t number);
  ShardInputs moment(TimePoint now);

  // SetMirrors
  std::optional<Pick> pick(const SelectionCriteria& criteria, RandomSource& random) const override;
  bool try_take_slot(std::size_t mirror) override;

  // AttemptOwner
  bool would_repeat(std::size_t slot, const AttemptReport& report) override;
  Candidates untried(std::size_t slot) override;

  const AttemptPlace place_;
  Worker& worker_;
  ShardRules rules_;
  ShardRequest request_;
  Slot first_;  ///< inline, so that the common case allocates nothing
  std::vector<std::unique_ptr<Slot>> others_;
  boost::container::small_vector<std::pair<std::size_t, AgentSlot>, 1>
      agent_slots_;  ///< for the next sends
  std::optional<AgentSlot> freed_slot_;
  TimePoint now_{};  ///< time of the current event
  std::optional<ShardEvent> happened_ = event::Started{};
  boost::container::small_vector<Slot*, 1> sent_;  ///< attempts that have not started yet
  Slot* awaited_ = nullptr;                        ///< the only attempt, awaited by the caller
  std::vector<Slot*> ended_;                       ///< attempts that ran concurrently
  std::size_t running_ = 0;
  std::optional<action::Wait> wait_;
  std::optional<QueuedWait> queued_wait_;
  Stop* waiting_ = nullptr;
  bool cancelled_ = false;
  bool told_cancelled_ = false;
  bool finished_ = false;
  bool is_mistake_ = false;
};

}  // namespace karmad
