#pragma once

#include <array>
#include <boost/container/static_vector.hpp>
#include <optional>
#include <span>
#include <string>

#include "agent/transport/loop/buffers.hpp"
#include "balancer/core/forwarded.hpp"
#include "balancer/selection/shard_query.hpp"
#include "balancer/shard/shard_event.hpp"

namespace karmad {

/// The header fields that karmad adds to one attempt.
class ExtraFields {
 public:
  /// `shard_at`: the place of the shard in its table, from 0.
  ExtraFields(const Query& query, const ShardQuery& shard_query, const Shard& shard,
              std::size_t shard_at, std::string&& preference);
  ExtraFields(const ExtraFields&) = delete;
  ExtraFields& operator=(const ExtraFields&) = delete;
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

/// What an attempt in progress may ask its shard request.
class AttemptOwner {
 public:
  /// Whether another attempt would follow if the one in this slot ended with `report`.
  virtual bool would_repeat(std::size_t slot, const AttemptReport& report) = 0;
  /// The suitable mirrors that were not tried.
  virtual Candidates untried(std::size_t slot) = 0;

 protected:
  ~AttemptOwner() = default;
};

/// The query, shard and owner of an attempt.
struct AttemptPlace {
  Query& query;
  const ShardQuery& shard_query;
  const Shard& shard;
  unsigned shard_number;  ///< for the trace
  AttemptOwner& owner;
};

/// One attempt at one mirror: sent once, then judged; `result` must be fresh. Holds the mirror's
/// slot and the request's buffers for its life.
class MirrorAttempt final : private AttemptInFlight {
 public:
  /// `hedging`: for the trace, only of a first attempt.
  MirrorAttempt(const AttemptPlace& place, const action::Send& send, AgentSlot slot,
                TimePoint began, const std::optional<HedgeRules>& hedging, AttemptResult& result);
  MirrorAttempt(const MirrorAttempt&) = delete;
  MirrorAttempt& operator=(const MirrorAttempt&) = delete;

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
  /// Ends it in any state. `lost_race`: an attempt sent later has answered.
  void cancel(bool lost_race);

  /// The result for the shard request and the mirror's record. A good answer that will be merged is
  /// not recorded yet, because merging may find errors. The unread rest of a reply goes to `rest`.
  /// Ends its trace.
  AttemptReport judge(std::unique_ptr<ResponseStream>& rest);

 private:
  /// What a failure says about the mirror.
  struct Blame {
    ErrorHint hint;
    bool marked_unreachable = false;
    bool undecided = false;
  };

  Judgement check() const;
  Blame blamed(std::string_view complaint);
  AttemptReport report(const ErrorHint& hint);
  bool is_undecided(std::string_view complaint, const ErrorHint& hint);
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
  bool agreed_ = false;       ///< a mistake of the client, because mirrors gave the same error
  bool crash_noted_ = false;  ///< needs_crash_check() was called
  bool suspected_ = false;    ///< the agent may have crashed on the request
};

}  // namespace karmad
