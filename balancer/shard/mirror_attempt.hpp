#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "agent/transport/loop/buffers.hpp"
#include "balancer/shard/shard_event.hpp"
#include "balancer/shard/shard_query.hpp"

namespace karmad {

/// The fields of one attempt that are ours.
class ExtraFields {
 public:
  ExtraFields(const Query& query, const ShardQuery& shard_query, std::string&& preference);
  ExtraFields(const ExtraFields&) = delete;
  ExtraFields& operator=(const ExtraFields&) = delete;
  std::span<const Field> all() const { return {fields_.data(), count_}; }

 private:
  void add(std::string_view name, std::string_view value) { fields_[count_++] = {name, value}; }

  std::string from_;
  std::string preference_;
  std::array<Field, kMaxExtraFields> fields_;
  std::size_t count_ = 0;
};

/// What an attempt that is under way asks of its shard request.
class AttemptOwner {
 public:
  /// Whether another attempt would follow if the one in this slot ended so.
  virtual bool would_repeat(std::size_t slot, const AttemptReport& report) = 0;
  /// The mirrors that suit and have not been tried.
  virtual Candidates untried(std::size_t slot) = 0;

 protected:
  ~AttemptOwner() = default;
};

/// Where an attempt belongs, and what it sends.
struct AttemptPlace {
  Query& query;
  const ShardQuery& shard_query;
  const Shard& shard;
  unsigned shard_number;  ///< for the trace
  AttemptOwner& owner;
};

/// One attempt at one mirror, which is asked once and then judged; `result` is fresh. It holds the
/// mirror's slot and what is sent, and lives as long as the attempt.
class MirrorAttempt final : private AttemptInFlight {
 public:
  /// `hedging`: of a first attempt, for the trace.
  MirrorAttempt(const AttemptPlace& place, const action::Send& send, AgentSlot slot,
                TimePoint began, const std::optional<HedgeRules>& hedging, AttemptResult& result);
  MirrorAttempt(const MirrorAttempt&) = delete;
  MirrorAttempt& operator=(const MirrorAttempt&) = delete;

  Task<void> ask();
  /// Whether looking through the answer would hold the worker: then check_aside() goes first.
  bool is_long_to_check() const;
  /// Has a helper thread find out what the answer means.
  Task<void> check_aside();
  /// Ends it, wherever it is. `lost_race`: one that was sent later has answered.
  void cancel(bool lost_race);

  /// What the answer means: for the shard request, and for the mirror's record. A merged answer
  /// that is good so far is not recorded yet, merging may show it broken; and the rest of a reply
  /// that is still to come goes to `rest`. Ends its trace.
  AttemptReport judge(std::unique_ptr<ResponseStream>& rest);

 private:
  Judgement check() const;
  AttemptReport report(const ErrorHint& hint);
  bool is_undecided(std::string_view complaint, const ErrorHint& hint);
  void count_end() const;
  void keep_rest(char ends_in, std::unique_ptr<ResponseStream>& rest);
  void end_trace();
  void unreachable() override;

  const AttemptPlace place_;
  Query& query_;
  const ShardQuery& shard_query_;
  const std::size_t slot_;
  AttemptResult& result_;
  MirrorSet& set_;
  Mirror& mirror_;
  AgentSlot agent_slot_;
  bool tracks_state_;  ///< the set's state machine wants to know
  Buffer written_;
  MemoryReservation written_memory_;
  ExtraFields extra_;
  AttemptRequest attempt_;
  std::optional<OpenAttempt> trace_;  ///< with a trace consumer only
  QueryStop stop_;
  std::size_t arrived_ = 0;  ///< bytes of the reply, when its mirror was last found unreachable
  std::optional<Judgement> checked_;  ///< by a helper thread
  bool aside_ = false;                ///< a helper thread was asked to check
  bool no_helper_ = false;            ///< but too much long work waits
  bool lost_race_ = false;
};

}  // namespace karmad
