#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "agent/transport/loop/buffers.hpp"
#include "balancer/shard/select_mirror.hpp"

namespace karmad {

/// The fields of one attempt that are ours.
class ExtraFields {
 public:
  ExtraFields(const Query& query, const ShardOrder& order, std::string&& preference);
  ExtraFields(const ExtraFields&) = delete;
  ExtraFields& operator=(const ExtraFields&) = delete;
  std::span<const Field> all() const { return {fields_.data(), count_}; }

 private:
  void add(std::string_view name, std::string_view value) { fields_[count_++] = {name, value}; }

  std::string from_;
  std::string preference_;
  std::array<Field, kMaxExtra> fields_;
  std::size_t count_ = 0;
};

/// One attempt at one mirror, which is asked once and then judged; `end` is fresh. It holds the
/// mirror's seat and what is sent, and lives as long as the attempt.
class MirrorTry final : private AttemptInFlight {
 public:
  MirrorTry(Query& query, const ShardOrder& order, ShardPart& part, Selected selected,
            AttemptEnd& end);
  MirrorTry(const MirrorTry&) = delete;
  MirrorTry& operator=(const MirrorTry&) = delete;

  Task<void> ask();
  /// Whether looking through the answer would hold the worker: then check_aside() goes first.
  bool is_long_to_check() const;
  /// Has a helper thread find out what the answer means.
  Task<void> check_aside();
  /// Says in `end` what the answer means, enters it in the mirror's record, and ends its trace. A
  /// merged answer that is good so far is not recorded yet: merging may show it broken.
  void judge();

 private:
  Judgement check() const;
  bool is_undecided(std::string_view complaint);
  void keep_rest(char ends_in);
  void unreachable() override;

  Query& query_;
  const ShardOrder& order_;
  ShardPart& part_;
  Selected selected_;
  AttemptEnd& end_;
  MirrorSet& set_;
  Mirror& mirror_;
  bool aware_;  ///< the set's state machine wants to know
  Buffer written_;
  MemoryReservation written_memory_;
  ExtraFields extra_;
  AttemptOrder attempt_;
  std::optional<OpenAttempt> trace_;  ///< with a trace consumer only
  Standings::UnderWay under_way_;
  PartStop stop_;
  std::size_t arrived_ = 0;  ///< bytes of the reply, when its mirror was last found unreachable
  std::optional<Judgement> checked_;  ///< by a helper thread
};

}  // namespace karmad
