#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/stats/outcome.hpp"
#include "balancer/rules/hedge_plan.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// How the mirror of an attempt was chosen.
struct Choice {
  std::string_view strategy;
  std::uint8_t suitable = 0;    ///< mirrors that meet the criteria of the query
  std::uint8_t acceptable = 0;  ///< mirrors among them that the strategy chose from
};

/// The data of an attempt at its start. The views must live as long as the query.
struct AttemptStart {
  std::uint32_t shard = 1;  ///< of the table, from 1
  std::string_view mirror;  ///< the name of its agent
  AttemptReason reason = AttemptReason::initial;
  Choice choice;
  std::optional<HedgeRules> hedging;  ///< of an initial attempt: when others follow (CO-086)
  Micros pause{};                     ///< pause before it
  std::uint64_t span = 0;             ///< its parent id in the trace of the client; 0: none
  TimePoint at{};
};

/// A recorded attempt. Times count from the start of the request.
struct TracedAttempt {
  AttemptStart start;
  Micros started{};
  std::optional<Micros> connected;   ///< if it had to connect
  std::optional<Micros> first_byte;  ///< of the reply
  std::optional<Micros> ended;       ///< unset while it runs, and if it was dropped
  Outcome outcome = Outcome::cancelled;
  int status = 0;  ///< of the reply; 0: none
  std::string error;
};

/// A retry that was not made, and why none of the other mirrors was asked.
struct RefusedRetry {
  std::uint32_t shard = 1;  ///< of the table, from 1
  std::string why;
};

class Trace;

/// The trace of a running attempt. Its owner ends it once; until then it is a cancelled one without
/// an end (BP-030). Must not outlive its trace.
class OpenAttempt {
 public:
  void connected(TimePoint at);
  void first_byte(TimePoint at);
  void end(TimePoint at, Outcome outcome, std::string error = {}, int status = 0);

 private:
  friend class Trace;
  OpenAttempt(Trace& trace, std::size_t place) : trace_(&trace), place_(place) {}

  Trace* trace_;
  std::size_t place_;
};

/// The record of a client's request and all its attempts. Reads no clock; allocates nothing for up
/// to four successful attempts. The query's worker only.
class Trace {
 public:
  /// Most attempts recorded; further ones are only counted.
  static constexpr std::size_t kKept = 64;

  Trace() {}  // NOLINT: with `= default` all of it would be filled with zeros first
  Trace& operator=(Trace&&) = delete;

  std::uint64_t id = 0;
  std::string_view request_id;  ///< empty: none
  std::string_view trace_id;    ///< of W3C Trace Context; empty: none
  std::string_view client;
  std::string_view operation;  ///< the kind of request in a word
  std::string_view table;      ///< empty: no table
  TimePoint began{};
  TimePoint deadline{};
  Micros queued{};              ///< time waited for tickets
  std::optional<Micros> merge;  ///< time of merging the replies, if there was something to merge
  bool partial = false;         ///< the answer lacks a shard

  OpenAttempt begin(const AttemptStart& start);
  /// The answer of the last attempt of `shard` at `mirror` turned out to be useless in the merge.
  void rejected(std::uint32_t shard, std::string_view mirror, std::string_view why);
  void refused(RefusedRetry retry) {
    if (refused_.size() < kKept) refused_.push_back(std::move(retry));
  }

  std::span<const TracedAttempt> attempts() const { return {attempts_.data(), attempts_.size()}; }
  std::span<const RefusedRetry> refused() const { return refused_; }
  std::uint64_t started() const { return started_; }
  bool retried() const { return retried_; }  ///< not counting hedges
  bool hedged() const { return hedged_; }

 private:
  friend class OpenAttempt;
  TracedAttempt* kept(std::size_t place) {
    return place < attempts_.size() ? &attempts_[place] : nullptr;
  }
  Micros since_began(TimePoint at) const { return std::chrono::duration_cast<Micros>(at - began); }

  boost::container::small_vector<TracedAttempt, 4> attempts_;
  std::vector<RefusedRetry> refused_;
  std::uint64_t started_ = 0;
  bool retried_ = false;
  bool hedged_ = false;
};

}  // namespace karmad
