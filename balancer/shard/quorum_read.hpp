#pragma once

#include <array>
#include <optional>
#include <vector>

#include "balancer/rules/quorum_plan.hpp"
#include "balancer/shard/attempt_chains.hpp"

namespace karmad {

/// Extends a shard request to ask as many mirrors as must agree, concurrently, until they agree or
/// cannot (CO-070 … CO-075). Each mirror is a chain of one attempt. The winner's end becomes the
/// request's. Without a winner the request is refused, or overloaded if all mirrors reported
/// overload. Owned by its request.
class QuorumRead {
 public:
  explicit QuorumRead(AttemptChains& chains);

  /// Called after each event; performs the next steps. True: the request has ended.
  bool proceed();
  /// Adds the end of a pause or of a barrier step.
  void add_wait(action::Wait& wait) const;

 private:
  using Do = QuorumPlan::Do;
  bool take_step(const QuorumPlan::Step& step);
  void enter();
  std::optional<QuorumPlan::Step> next_step();
  std::optional<QuorumPlan::Step> after_barrier();
  void enter_barrier_step();

  // Readers: the chains of this round.
  bool start_another();
  bool start_settling();
  bool start_primary();
  std::unique_ptr<AttemptChain> make_reader() const;
  std::unique_ptr<AttemptChain> make_settling_reader() const;
  bool can_settle() const;
  bool start(std::unique_ptr<AttemptChain> reader, bool asked_for);
  std::size_t free_slot() const;
  bool starts_no_more_reads() const;
  std::size_t running() const;
  /// Whether a reader of this round is in that state.
  template <class State>
  bool any_in() const;
  std::size_t counting() const;
  static bool counts(const AttemptChain& reader);

  void take_in();
  void take_in(AttemptChain& reader);
  QuorumPlan::Step after_read(bool may_settle);
  void mark_those_behind() const;
  Generation known(std::size_t mirror) const;
  bool has_reached() const;
  bool no_mirror_serves() const;
  bool is_newest() const;
  void clear();
  void begin_round();
  void fail();
  Refusal not_met() const;

  const SetView& view() const { return chains_.moment().mirrors.view(); }
  std::size_t mirrors() const { return view().picture.mirrors.size(); }
  AttemptChain& reader(std::size_t slot) const { return chains_.chain(slot); }

  AttemptChains& chains_;
  const std::size_t needed_;
  QuorumPlan plan_;
  QuorumPlan::Step step_;      ///< in progress
  bool pauses_ = false;        ///< before it
  bool keeps_newest_ = false;  ///< the step before was a barrier
  TimePoint until_{};          ///< end of a pause or of a barrier step
  unsigned barrier_step_ = 0;
  bool barrier_over_ = false;
  std::size_t begun_ = 0;                                    ///< number of chains started
  std::vector<std::size_t> round_;                           ///< slots asked in this round
  std::size_t kept_ = 0;                                     ///< of these, from the round before
  std::optional<std::size_t> winner_;                        ///< its slot
  std::array<Generation, Candidates::kMost> generations_{};  ///< of this query's answers
  Generation fresh_;            ///< the newest one of the first answers, if they did not agree
  Candidates refusing_;         ///< reported overload
  std::uint64_t selected_ = 0;  ///< the newest generation
  std::size_t reads_ = 0;
  bool asked_ = false;     ///< the phase has asked a mirror
  bool unknown_ = false;   ///< mirrors report no generation
  bool only_busy_ = true;  ///< no answer so far; all failures were overload or timeouts
};

}  // namespace karmad
