#include "balancer/watch/mirror_watch.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "balancer/rules/protection.hpp"
#include "balancer/selection/selection.hpp"

namespace karmad {
namespace {

using Severity = OperatorEvent::Severity;

RecentWork work_of(const Tally& tally) {
  const auto totals = tally.totals();
  RecentWork work{.attempts = tally.attempts(),
                  .queries = totals.queries,
                  .query_time = totals.query_time,
                  .connects = totals.connects,
                  .connect_time = totals.connect_time};
  for (std::size_t i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    if (counter != Counter::succeeded_queries && counter != Counter::warnings)
      work.failures += totals.counts[i];
  }
  return work;
}

/// Of a list that is not empty; reorders it.
Micros lower_median(std::vector<Micros>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

/// The median of the mean times of all mirrors but `self` that answered a few queries.
std::optional<Micros> mean_of_peers(std::span<const RecentWork> all, std::size_t self) {
  std::vector<Micros> means;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i != self && all[i].queries >= kFewAttempts) means.push_back(*all[i].mean());
  if (means.empty()) return std::nullopt;
  return lower_median(means);
}

std::optional<Micros> p95_of(const Agent& agent, TimePoint now) {
  return agent.history.quantiles(now).p95;
}

/// The median of the p95 of all mirrors but `self`. Some microseconds for each mirror.
std::optional<Micros> p95_of_peers(const MirrorSet& set, std::size_t self, TimePoint now) {
  std::vector<Micros> all;
  for (std::size_t i = 0; i < set.size(); ++i)
    if (i != self)
      if (const auto p95 = p95_of(*set[i].agent, now)) all.push_back(*p95);
  if (all.empty()) return std::nullopt;
  return lower_median(all);
}

/// Whether the reason that it is unsuitable is its lag.
bool is_lagging(const Need* need, const SetPicture& picture, std::size_t mirror) {
  if (need == nullptr || picture.mirrors[mirror].role != Role::replica) return false;
  const auto& limit = need->preference.max_staleness;
  const auto lag = staleness(picture, mirror);
  return limit && (!lag || *lag > *limit);
}

/// Why the mirror is ejected, and for how long; nothing if it is not.
std::optional<std::string> why_ejected(const Shard& shard, std::size_t mirror, TimePoint now) {
  const auto& outliers = shard.protection->outliers;
  if (!outliers || !outliers->ejected().contains(mirror)) return std::nullopt;
  const auto& state = outliers->of(mirror);
  const auto left = std::chrono::duration<double>(state.until - now).count();
  auto text = left > 0 ? fmt::format("{}; not admitted again for {:.0f} s", state.reason, left)
                       : fmt::format("{}; admitted again after an answered ping", state.reason);
  if (outliers->panic()) text += "; asked nevertheless, as too few mirrors are left";
  return text;
}

/// Changes that are part of normal work.
bool is_quiet(MirrorCondition from, MirrorCondition to) {
  using enum MirrorCondition;
  const auto is_usual = [](MirrorCondition condition) {
    return condition == unknown || condition == ready || condition == full;
  };
  return is_usual(from) && is_usual(to);
}

Severity severity_of(MirrorCondition from, MirrorCondition to, std::size_t left) {
  if (left == 0) return Severity::error;
  const bool ends_outage = left == 1 && !can_be_asked(from) && can_be_asked(to);
  if (ends_outage || is_trouble(to)) return Severity::warning;
  return Severity::info;
}

spdlog::level::level_enum level_of(Severity severity) {
  if (severity == Severity::error) return spdlog::level::err;
  return severity == Severity::warning ? spdlog::level::warn : spdlog::level::info;
}

}  // namespace

std::string diagnosis(std::string_view address, const MirrorReport& report) {
  const auto since = report.since == WallTime{} ? "" : " since " + utc_text(report.since);
  return fmt::format("{} {}{}{}{}", address, name(report.condition), since,
                     report.reason.empty() ? "" : ": ", report.reason);
}

bool is_down(const Agent& agent, std::uint32_t dead_after) {
  const auto errors = agent.counters.errors_in_a_row.load(std::memory_order_relaxed);
  return errors > dead_after || (errors > 1 && agent.counters.unreachable_since(TimePoint{}));
}

std::vector<MirrorReport> MirrorWatch::reports(const MirrorSet& set) const {
  const std::scoped_lock lock(mutex_);
  std::vector<MirrorReport> all(set.size());
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto found = mirrors_.find(set[i].record.get());
    if (found == mirrors_.end()) continue;
    const auto& now = found->second.track.current();
    all[i] = {.condition = now.condition, .since = found->second.since, .reason = now.reason};
  }
  return all;
}

/// The entries of the mirrors of a set; new ones for those that are not watched yet.
MirrorWatch::WatchedMirrors MirrorWatch::watched(const MirrorSet& set, WallTime wall) {
  WatchedMirrors all;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto& record = set[i].record;
    auto& entry = mirrors_[record.get()];
    if (entry.record == nullptr) {
      entry.record = record;
      entry.since = wall;
    }
    all.push_back(&entry);
  }
  return all;
}

void MirrorWatch::sample(const Topology& topology, TimePoint now, WallTime wall) {
  ++round_;
  std::size_t number = 0;
  std::size_t count = 0;
  for (const auto& table : topology.tables)
    for (std::size_t s = 0; s < table->shards.size(); ++s) {
      const auto& shard = *table->shards[s];
      const auto& set = *shard.mirrors;
      const std::scoped_lock lock(mutex_);
      const auto mirrors = watched(set, wall);
      if (mirrors.empty() || mirrors.front()->round == round_) continue;
      for (auto* mirror : mirrors) mirror->round = round_;
      count += mirrors.size();
      const bool due = number++ % kParts == round_ % kParts;
      if (due) sample(mirrors, {topology, *table, s + 1, set}, shard, now, wall);
    }
  const std::scoped_lock lock(mutex_);
  if (mirrors_.size() > count)
    std::erase_if(mirrors_, [this](const auto& entry) { return entry.second.round != round_; });
}

void MirrorWatch::sample(const WatchedMirrors& mirrors, const Place& place, const Shard& shard,
                         TimePoint now, WallTime wall) {
  const auto& set = place.set;
  std::vector<RecentWork> work;
  std::uint64_t attempts = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    mirrors[i]->window.add(work_of(set[i].tally));
    work.push_back(mirrors[i]->window.recent());
    attempts += work.back().attempts;
  }
  const Selection selection(std::nullopt, place.table, place.topology.settings, Operation::read);
  const auto* need = selection.at(shard);
  const auto view = set.view(0);
  const auto full = set.full();
  const auto& breaker = shard.protection->breaker;
  const auto tripped = breaker ? breaker->tripped(now) : Candidates{};
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto& agent = *set[i].agent;
    const auto& counters = agent.counters;
    const auto read = [](const auto& value) { return value.load(std::memory_order_relaxed); };
    MirrorSigns signs{.answered = read(counters.answered),
                      .unresolved = agent.named() ? agent.unresolved() : std::nullopt,
                      .down = is_down(agent, place.topology.settings.dead_after.value),
                      .tripped = tripped.contains(i),
                      .ejected = why_ejected(shard, i, now),
                      .started = set[i].signals.started(),
                      .unreachable = view->unreachable.contains(i),
                      .errors_in_a_row = read(counters.errors_in_a_row),
                      .lags = is_lagging(need, view->picture, i),
                      .full = full.contains(i),
                      .in_flight = read(counters.in_flight),
                      .recent = work[i],
                      .latest = mirrors[i]->window.latest(),
                      .last_second = mirrors[i]->window.last_second(),
                      .peers_mean = mean_of_peers(work, i),
                      .mirrors = set.size(),
                      .attempts_of_set = attempts};
    if (attempts > 0)
      signs.share = static_cast<double>(work[i].attempts) / static_cast<double>(attempts);
    if (need != nullptr) signs.unsuitable = why_unsuitable(*need, view->picture, i);
    if (signs.errors_in_a_row > 0 || !signs.answered || signs.latest.failures > 0 ||
        signs.tripped || signs.unreachable)
      signs.last_error = agent.last_error();
    auto& mirror = *mirrors[i];
    const auto before = mirror.track.current().condition;
    if (is_slow(signs, before)) {
      signs.p95 = p95_of(agent, now);
      signs.peers_p95 = p95_of_peers(set, i, now);
    }
    if (!mirror.track.observe(diagnose(signs, before), now)) continue;
    mirror.since = wall;
    report(mirrors, i, place, now, wall);
  }
}

void MirrorWatch::report(const WatchedMirrors& mirrors, std::size_t mirror, const Place& place,
                         TimePoint now, WallTime wall) {
  const auto& track = mirrors[mirror]->track;
  const auto from = track.before();
  const auto to = track.current().condition;
  if (is_quiet(from, to)) return;
  const auto left = static_cast<std::size_t>(std::ranges::count_if(
      mirrors, [](const auto* of) { return can_be_asked(of->track.current().condition); }));
  const auto severity = severity_of(from, to, left);
  const auto& address = place.set[mirror].agent->name;
  const auto& reason = track.current().reason;
  const auto message =
      fmt::format("table {}, shard {}: mirror {} is {}, was {}; {}", place.table.name, place.shard,
                  address, name(to), name(from),
                  left == 0 ? "no mirror is left"
                            : fmt::format("{} of {} mirrors are left", left, mirrors.size()));
  events_.add({.severity = severity,
               .table = place.table.name,
               .shard = place.shard,
               .mirror = mirror + 1,
               .address = address,
               .state = name(to),
               .former_state = name(from),
               .message = reason.empty() ? message : fmt::format("{}: {}", message, reason)},
              wall);
  const auto left_out = lines_.may_write(now);
  if (!left_out) return;
  // The reason may contain any bytes that the agent sent.
  spdlog::log(level_of(severity), "{}{}{}", message,
              reason.empty() ? "" : fmt::format(": {:?}", reason),
              *left_out == 0 ? "" : fmt::format(" ({} lines were left out before)", *left_out));
}

}  // namespace karmad
