#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/mirrors/mirror_set.hpp"
#include "agent/transport/loop/buffers.hpp"
#include "balancer/core/forwarded.hpp"
#include "balancer/selection/set_mirrors.hpp"
#include "balancer/selection/shard_query.hpp"
#include "balancer/shard/shard_event.hpp"
#include "balancer/shard/shard_request.hpp"

namespace karmad {

/// The header fields that karmad adds to one attempt.
class ExtraFields {
 public:
  /// `shard_at`: the place of the shard in its table, from 0.
  ExtraFields(const Query& query, const ShardQuery& shard_query, const Shard& shard,
              std::size_t shard_at, std::string&& preference);
  ExtraFields& operator=(ExtraFields&&) = delete;
  std::span<const Field> all() const { return fields_; }
  /// The name of a field of the client that its agent must not get; empty: there is none.
  std::string_view withheld() const { return withheld_; }
  /// The parent id that the agent gets in `traceparent`; 0: none.
  std::uint64_t span() const { return span_; }
  /// The protocols that the agent may change to; empty: none.
  std::string_view offered() const { return offered_; }

 private:
  void add(std::string_view name, std::string_view value) { fields_.push_back(Field{name, value}); }

  std::optional<ForwardedFields> forwarded_;
  std::string preference_;
  std::array<char, 20> generation_;
  std::uint64_t span_ = 0;
  Traceparent traceparent_;
  std::string_view withheld_;
  std::string_view offered_;
  boost::container::static_vector<Field, 15> fields_;
};

class ShardDriver;

/// The query, shard and owner of an attempt.
struct AttemptPlace {
  Query& query;
  const ShardQuery& shard_query;
  const Shard& shard;
  unsigned shard_number;  ///< for the trace
  ShardDriver& owner;
};

/// One attempt at one mirror: sent once, then judged; `result` must be fresh. Holds the mirror's
/// slot and the request's buffers for its life.
class MirrorAttempt final : private AttemptInFlight {
 public:
  /// `hedging`: for the trace, only of a first attempt.
  MirrorAttempt(const AttemptPlace& place, const action::Send& send, AgentSlot slot,
                TimePoint began, const std::optional<HedgeRules>& hedging, AttemptResult& result);
  MirrorAttempt& operator=(MirrorAttempt&&) = delete;

  Task<void> ask();
  /// Whether checking the answer would block the worker for too long; if so, call offload_check()
  /// first.
  bool should_offload() const;
  /// Judges the answer on a helper thread.
  Task<void> offload_check();
  /// Whether other agents may have crashed on this request like this one, and that is not known
  /// yet; if so, call check_crash() first. Called once, after the end.
  bool needs_crash_check();
  /// Finds out with short connects whether they refuse connections.
  Task<void> check_crash();
  /// Ends it in any state.
  void cancel(action::Cancel::Why why);

  /// The result for the shard request and the mirror's record. A good answer that will be merged is
  /// not recorded yet, because merging may find errors. The unread rest of a reply goes to `rest`.
  /// Ends its trace.
  AttemptReport judge(std::unique_ptr<ResponseStream>& rest);

 private:
  Judgement check() const;
  void blame(std::string_view complaint, AttemptReport& report);
  bool is_undecided(std::string_view complaint, AttemptReport& report);
  void complete(AttemptReport& report);
  bool may_have_crashed() const;
  bool is_body_gone() const;
  auto crashes_here() const;
  std::size_t count_crashes() const;
  void remember_crash();
  void count_end() const;
  void count_result() const;
  void keep_rest(char ends_in, std::unique_ptr<ResponseStream>& rest);
  void end_trace();
  void unreachable() override;

  const AttemptPlace place_;
  Query& query_;
  const ShardQuery& shard_query_;
  const std::size_t slot_;
  const AttemptReason reason_;
  AttemptResult& result_;
  MirrorSet& set_;
  Mirror& mirror_;
  AgentSlot agent_slot_;
  bool tracks_state_;  ///< reports to the set's state machine
  const bool worked_;  ///< the mirror did not fail at its last attempt
  Buffer written_;
  MemoryReservation written_memory_;
  ExtraFields extra_;
  AttemptRequest attempt_;
  std::optional<OpenAttempt> trace_;  ///< only if the trace is used
  QueryStop stop_;
  std::size_t arrived_ = 0;  ///< bytes of the reply when its mirror was last reported unreachable
  std::optional<Judgement> checked_;  ///< by a helper thread
  bool aside_ = false;                ///< a helper thread was asked to check
  Unchecked unchecked_ = Unchecked::no;
  bool lost_race_ = false;
  bool crash_noted_ = false;  ///< needs_crash_check() was called
  bool suspected_ = false;    ///< the agent may have crashed on the request
};

/// Executes the actions of one shard request: sends attempts, waits, and reports events. Holds the
/// reply at the end. Runs on the worker of its query.
class ShardDriver final : private SetMirrors {
 public:
  /// `number`: of the shard in its table, from 1; `only`: the one mirror to ask, in any role. All
  /// arguments must outlive it.
  ShardDriver(Query& query, const ShardQuery& shard_query, const Shard& shard, unsigned number,
              std::optional<std::size_t> only = std::nullopt);
  ShardDriver& operator=(ShardDriver&&) = delete;

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

  /// Cancels an attempt in progress if another one would follow its end, `report`.
  void mirror_unreachable(std::size_t slot, const AttemptReport& report) {
    carry_out(event::MirrorUnreachable{slot, report}, Loop::now());
  }
  /// The suitable mirrors that its slot has not tried.
  Candidates untried(std::size_t slot) { return request_.untried(slot, moment(Loop::now())); }

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
  std::unique_ptr<ResponseStream>& rest() { return slot(result().slot).rest; }
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
  void carry_out(const ShardEvent& event, TimePoint now);
  void carry_out(const action::Send& send);
  void carry_out(const action::Cancel& cancel) { slot(cancel.slot).attempt->cancel(cancel.why); }
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
  /// The choice that the attempt followed, with its attempt; null if the explanation has none.
  ExplainedChoice* explained_choice(const Slot& slot) const;
  void explain_end(const Slot& slot, const AttemptReport& report) const;
  bool is_over() const { return place_.query.stopped || cancelled_; }
  Slot& slot(std::size_t number) { return number == 0 ? first_ : other_slot(number); }
  Slot& other_slot(std::size_t number);
  ShardInputs moment(TimePoint now);

  // SetMirrors
  std::optional<Pick> pick(const SelectionCriteria& criteria, RandomSource& random) const override;

  const AttemptPlace place_;
  Worker& worker_;
  ShardRules rules_;
  ShardRequest request_;
  Slot first_;  ///< inline, so that the common case allocates nothing
  std::vector<std::unique_ptr<Slot>> others_;
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
