#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "balancer/shard/shard_request.hpp"

namespace karmad::testing {

using namespace std::chrono_literals;
using Kind = ErrorHint::Kind;

/// Takes the first mirror in the order of the configuration line.
class TakesTheFirst final : public Strategy {
 public:
  std::size_t choose(MirrorViews, Candidates from, RandomSource&) const override {
    return from.nth(0);
  }
  Shares shares(MirrorViews, Candidates from) const override {
    Shares shares{};
    if (!from.empty()) shares[from.nth(0)] = 1;
    return shares;
  }
};

/// A random source that always gives the middle of the range.
class HalfTheTime final : public RandomSource {
 public:
  std::size_t below(std::size_t n) override { return n / 2; }
  double uniform() override { return 0.5; }
};

/// Mirrors a, b, c … with properties that the test sets.
class MirrorsByHand final : public ShardMirrors {
 public:
  explicit MirrorsByHand(std::size_t count) {
    known.picture.kind = SetKind::flat;
    known.picture.mirrors.resize(count, {.role = Role::router});
    known.mirrors.resize(count);
  }
  const SetView& view() const override { return known; }
  std::string_view name(std::size_t mirror) const override {
    return std::string_view("abcdefghijkl").substr(mirror, 1);
  }
  std::string last_error(std::size_t) const override { return "refused the connection"; }
  Candidates failing() const override { return failed; }
  OutOfService out_of_service() const override { return taken_out; }
  std::optional<Pick> pick(const SelectionCriteria& criteria, RandomSource& random) const override {
    const std::vector<MirrorView> numbers(known.picture.mirrors.size());
    return select(criteria, known.picture, numbers, strategy, random);
  }
  Candidates acceptable(const SelectionCriteria& criteria) const override {
    const std::vector<MirrorView> numbers(known.picture.mirrors.size());
    return karmad::acceptable(criteria, known.picture, numbers, strategy);
  }
  bool pinged() const override { return has_pings; }
  bool closed() const override { return is_closed; }
  Candidates full() const override { return without_slot; }
  bool limited() const override { return !without_slot.empty() || has_limits; }
  bool try_take_slot(std::size_t mirror) override { return !without_slot.contains(mirror); }
  WaitQueue& wait_queue() override { return queue; }
  std::uint64_t longest_queue() const override { return most_waiting; }
  RecentLatency recent_latency() const override { return measured; }
  bool loaded_for_hedging() const override { return loaded; }

  TakesTheFirst strategy;
  SetView known;
  Candidates failed;
  OutOfService taken_out;
  Candidates without_slot;
  WaitQueue queue;
  RecentLatency measured;
  std::uint64_t most_waiting = 10;
  bool has_pings = true;
  bool is_closed = false;
  bool has_limits = false;
  bool loaded = false;
};

inline Candidates these(std::initializer_list<std::size_t> mirrors) {
  Candidates all;
  for (const auto mirror : mirrors) all.insert(mirror);
  return all;
}

/// The end of an attempt.
inline AttemptReport report(Outcome outcome, unsigned status = 0) {
  AttemptReport told;
  told.outcome = outcome;
  told.status = status;
  told.sent = outcome != Outcome::connect_failed && outcome != Outcome::connect_timeout;
  if (outcome != Outcome::answered) told.why = name(outcome);
  return told;
}
inline AttemptReport hint(Kind kind, unsigned status = 503) {
  auto told = report(Outcome::agent_error, status);
  told.hint.kind = kind;
  if (kind == Kind::overload || kind == Kind::throttled)
    told.hint.overload = told.hint.retryable = true;
  return told;
}
inline AttemptReport at_generation(std::uint64_t generation) {
  auto told = report(Outcome::answered, 200);
  told.generation = generation;
  return told;
}

/// A shard request driven by a list of events. What it says is text: `ask b (retry)`, `wait until
/// 500ms for news`, `finish: answered`; a slot other than the first is named (`ask b in 1
/// (hedge)`).
class ShardStory : public ::testing::Test {
 protected:
  ShardStory() { mirrors_are(3); }

  void mirrors_are(std::size_t count) {
    mirrors = std::make_unique<MirrorsByHand>(count);
    protection = std::make_unique<Protection>(count, ProtectionRules{});
    for (std::size_t i = 0; i < count; ++i) protection->standings.ended(i, Outcome::answered);
    rules.need = &need;
    rules.any_mirror = true;
    rules.retry = &retry;
    rules.subject.mirrors = count;
    rules.deadline = t0 + 10s;
    rules.connect_timeout = 1s;
    rules.selection_timeout = 5s;
    rules.probe_every = 1s;
    rules.waiting_selections = &waiting;
    rules.max_waiting_selections = 10;
    need.preference.mode = Mode::nearest;
  }
  /// Its first is the primary, the others are replicas.
  void roles_are(std::size_t count) {
    mirrors_are(count);
    mirrors->known.picture.kind = SetKind::roles;
    for (auto& mirror : mirrors->known.picture.mirrors) mirror.role = Role::replica;
    mirrors->known.picture.mirrors[0].role = Role::primary;
    mirrors->known.primary = 0;
    rules.any_mirror = false;
  }

  /// From now on events happen that long after the start.
  void at(Micros after_start) { now = t0 + after_start; }

  std::string start() {
    request = std::make_unique<ShardRequest>(rules);
    return take(event::Started{});
  }
  std::string ends(AttemptReport told, std::size_t slot = 0) {
    return take(event::AttemptEnded{slot, told});
  }
  std::string ends(Outcome outcome, std::size_t slot = 0) { return ends(report(outcome), slot); }
  std::string answers(std::size_t slot = 0) { return ends(report(Outcome::answered, 200), slot); }
  std::string time_passes() { return take(event::TimePassed{}); }
  std::string news() { return take(event::SetChanged{}); }
  std::string is_cancelled() { return take(event::Cancelled{}); }

  std::string take(const ShardEvent& event) {
    const ShardInputs moment{now, random, *protection, *mirrors, counters};
    std::string said;
    sends.clear();
    logs.clear();
    for (const auto& action : request->next(event, moment)) {
      if (const auto* log = std::get_if<action::Log>(&action)) {
        logs.push_back(*log);
        continue;
      }
      if (!said.empty()) said += "; ";
      std::visit([&](const auto& what) { tell(said, what); }, action);
    }
    return said;
  }
  std::uint64_t counted(Count what) const { return counters[static_cast<std::size_t>(what)]; }

  static constexpr TimePoint t0{1h};
  TimePoint now = t0;
  Need need;
  RetryRules retry;
  ShardRules rules;
  std::atomic<std::uint32_t> waiting{0};
  HalfTheTime random;
  Counters counters;
  std::unique_ptr<MirrorsByHand> mirrors;
  std::unique_ptr<Protection> protection;
  std::unique_ptr<ShardRequest> request;
  std::vector<action::Send> sends;  ///< of the last event
  std::vector<action::Log> logs;    ///< likewise

 private:
  void tell(std::string& said, const action::Send& send) {
    sends.push_back(send);
    said.append("ask ").append(mirrors->name(send.pick.mirror));
    if (send.slot != 0) said += fmt::format(" in {}", send.slot);
    if (send.reason != AttemptReason::initial)
      said.append(" (").append(trace_name(send.reason)) += ')';
  }
  static void tell(std::string& said, const action::Cancel& cancel) {
    constexpr std::string_view kWhy[] = {"", " (lost race)", " (unreachable)"};
    said += fmt::format("cancel {}{}", cancel.slot, kWhy[static_cast<std::size_t>(cancel.why)]);
  }
  static void tell(std::string&, const action::Log&) {}
  static void tell(std::string& said, const action::NotifyWaiters&) { said += "tell others"; }
  static void tell(std::string& said, const action::CheckMirrors& check) {
    said += check.generations ? "check generations" : "check";
  }
  void tell(std::string& said, const action::Wait& wait) {
    said += fmt::format("wait until {}ms", (*wait.until - t0) / 1ms);
    if (!wait.slots.empty()) said += " for a slot at ";
    for (const auto mirror : wait.slots) said += mirrors->name(mirror);
    if (wait.news && wait.slots.empty()) said += " for news";
  }
  void tell(std::string& said, const action::Finish&) {
    const auto& result = request->result();
    said.append("finish: ");
    said.append(result.refused ? result.refused->type : std::string_view(name(result.outcome)));
  }
};

}  // namespace karmad::testing
