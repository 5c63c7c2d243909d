#include "balancer/watch/mirror_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "agent/json/json_text.hpp"
#include "balancer/rules/protection.hpp"
#include "balancer/selection/selection.hpp"
#include "balancer/trace/plain_text.hpp"
#include "balancer/trace/process_log.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

RecentWork work_of(const Tally& tally) {
  const auto totals = tally.totals();
  return {.attempts = tally.attempts(),
          .failures = error_sums(totals).critical,
          .queries = totals.queries,
          .connects = totals.connects,
          .connect_time = totals.connect_time};
}

/// The attempts of each mirror, over the same time: 2 s, or 10 s if they were few.
std::vector<std::uint64_t> attempts_of(std::span<const WorkWindow* const> windows) {
  std::vector<std::uint64_t> attempts;
  for (const auto* window : windows) attempts.push_back(window->latest().attempts);
  const auto sum = std::reduce(attempts.begin(), attempts.end());
  if (sum < WorkWindow::kEnough * windows.size())
    std::ranges::transform(windows, attempts.begin(),
                           [](const auto* window) { return window->longest().attempts; });
  return attempts;
}

/// Whether the reason that it is unsuitable is its lag.
bool is_lagging(const Need* need, const SetDescription& picture, std::size_t mirror) {
  if (need == nullptr || picture.mirrors[mirror].role != Role::replica) return false;
  const auto& limit = need->preference.max_staleness;
  const auto lag = staleness(picture, mirror);
  return limit && (!lag || *lag > *limit);
}

/// Why the mirror is ejected, and for how long; nothing if it is not.
std::optional<std::string> why_ejected(const Shard& shard, std::size_t mirror, TimePoint now) {
  const auto& outliers = shard.protection->outliers;
  if (!outliers || !outliers->ejected().contains(mirror)) return std::nullopt;
  const auto state = outliers->of(mirror);
  const auto left = std::chrono::duration<double>(state.until - now).count();
  return left > 0 ? fmt::format("{}; not admitted again for {:.0f} s", state.reason, left)
                  : fmt::format("{}; admitted again after an answered ping", state.reason);
}

bool is_in_panic(const Shard& shard) {
  const auto& outliers = shard.protection->outliers;
  return outliers && outliers->panic();
}

/// An error of an agent as part of a diagnosis, which is one line and the same text everywhere.
std::string in_one_line(std::string_view error) {
  constexpr std::size_t kMost = 200;
  return without_controls(clean_utf8(error.substr(0, kMost)));
}

/// Changes that are part of normal work.
bool is_quiet(MirrorCondition from, MirrorCondition to) {
  using enum MirrorCondition;
  const auto is_usual = [](MirrorCondition condition) {
    return condition == unknown || condition == ready || condition == full;
  };
  return is_usual(from) && is_usual(to);
}

/// `before`, `now`: all mirrors of its shard.
LogLevel severity_of(MirrorCondition to, const SetCount& before, const SetCount& now) {
  if (now.can_serve == 0) return LogLevel::error;
  if (before.can_serve == 0 || is_trouble(to)) return LogLevel::warning;
  return LogLevel::info;
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

std::string MirrorWatch::trouble(const Table& table) const {
  const std::scoped_lock lock(mutex_);
  const auto found = tables_.find(table.tally.get());
  return found == tables_.end() ? std::string() : found->second.track.current().reason;
}

void MirrorWatch::sample(const Table& table, TimePoint now, WallTime wall) {
  const std::scoped_lock lock(mutex_);
  auto& watched = tables_[table.tally.get()];
  watched.tally = table.tally;
  watched.round = round_;
  watched.success.observe(table.tally->totals(), now);
  auto trouble = watched.success.trouble();
  const auto condition = trouble.empty() ? MirrorCondition::ready : MirrorCondition::failing;
  auto& track = watched.track;
  if (!track.observe({condition, std::move(trouble)}, now)) return;
  if (is_quiet(track.before(), track.current().condition)) return;
  const auto& reason = track.current().reason;
  news_.tell({.severity = reason.empty() ? LogLevel::info : LogLevel::warning,
              .kind = OperatorEvent::Kind::table,
              .table = table.name,
              .state = name(track.current().condition),
              .former_state = name(track.before()),
              .reason = reason,
              .message = fmt::format("table {}: {}", table.name,
                                     reason.empty() ? "queries succeed again" : reason)},
             now, wall);
}

void MirrorWatch::sample(const Topology& topology, TimePoint now, WallTime wall) {
  const auto part = ++calls_ % kParts;
  if (part == 1) ++round_;
  std::size_t number = 0;
  for (const auto& table : topology.tables) {
    if (number % kParts == part) sample(*table, now, wall);
    for (std::size_t s = 0; s < table->shards.size(); ++s) {
      if (number++ % kParts != part) continue;
      const auto& shard = *table->shards[s];
      const auto& set = *shard.mirrors;
      const std::scoped_lock lock(mutex_);
      const auto mirrors = watched(set, wall);
      if (mirrors.empty() || mirrors.front()->round == round_) continue;
      for (auto* mirror : mirrors) mirror->round = round_;
      sample(mirrors, {topology, *table, s + 1, set}, shard, now, wall);
    }
  }
  if (part == 0) forget_removed();
}

/// Those that are no longer in the topology. After a reload others may have been left out of one
/// round, because their places have changed.
void MirrorWatch::forget_removed() {
  const std::scoped_lock lock(mutex_);
  const auto is_removed = [this](const auto& watched) { return watched.round + 1 < round_; };
  std::erase_if(tables_, [&](const auto& entry) { return is_removed(entry.second); });
  std::erase_if(mirrors_, [&](const auto& entry) {
    const auto& mirror = entry.second;
    if (!is_removed(mirror)) return false;
    troubles_ -= is_trouble(mirror.track.current().condition) ? 1 : 0;
    return true;
  });
}

/// What one sample of a set found out about all its mirrors.
struct MirrorWatch::SetSample {
  const Place& place;
  const Shard& shard;
  std::vector<std::vector<RecentAnswer>> answers;  ///< of each mirror, the newest first
  std::vector<std::optional<TypicalTime>> times;
  std::vector<std::uint64_t> attempts;  ///< attempts_of()
  std::uint64_t all_attempts = 0;
  SetCount before;  ///< their conditions before the sample
  SetCount after;
  Candidates usual;  ///< those that work; the others are no measure
  const Need* need = nullptr;
  Candidates may_serve;  ///< in any level of the preference
  ViewPtr view;
  Candidates full;
  Candidates tripped;
  Candidates silent;
  Candidates unreached;  ///< the last search got no connection

  /// The mirrors that the answers of `self` are compared with.
  Candidates peers_of(std::size_t self) const {
    Candidates peers;
    for (const auto i : usual)
      if (i != self && times[i]) peers.insert(i);
    return peers;
  }
  std::vector<TypicalTime> times_of(Candidates mirrors) const {
    std::vector<TypicalTime> all;
    for (const auto i : mirrors) all.push_back(*times[i]);
    return all;
  }
  std::optional<Slowness> slowness_of(std::size_t self, bool was) const {
    if (!times[self]) return std::nullopt;
    const auto others = peers_of(self);
    if (!was && !may_be_slow(*times[self], times_of(others))) return std::nullopt;
    std::vector<std::span<const RecentAnswer>> peers;
    for (const auto i : others) peers.emplace_back(answers[i]);
    return slowness(answers[self], peers, was);
  }
};

MirrorSigns MirrorWatch::signs_of(WatchedMirror& watched, std::size_t mirror,
                                  const SetSample& sample, TimePoint now) {
  const auto& place = sample.place;
  const auto& agent = *place.set[mirror].agent;
  const auto& counters = agent.counters;
  const auto& picture = sample.view->picture;
  const auto read = [](const auto& value) { return value.load(std::memory_order_relaxed); };
  const auto errors = read(counters.errors_in_a_row);
  const bool unreachable = sample.view->unreachable.contains(mirror);
  const bool reached = sample.unreached.contains(mirror) && !unreachable && errors == 0;
  watched.failures.observe(
      work_of(place.set[mirror].tally), watched.window.recent(),
      {.failed_in_a_row = place.set[mirror].signals.failures_in_a_row(),
       .answered_in_a_row = sample.shard.protection->standings.of(mirror).answers,
       .reached = reached});
  MirrorSigns signs{
      .answered = read(counters.answered),
      .unresolved = agent.named() ? agent.unresolved() : std::nullopt,
      .untrusted = agent.untrusted.load(std::memory_order_relaxed),
      .down = is_down(agent, place.topology.settings.dead_after.value),
      .silent = sample.silent.contains(mirror),
      .failures = watched.failures,
      .tripped = sample.tripped.contains(mirror),
      .ejected = why_ejected(sample.shard, mirror, now),
      .panic = is_in_panic(sample.shard),
      .started = place.set[mirror].signals.started(),
      .unreachable = unreachable,
      .errors_in_a_row = errors,
      .lags = is_lagging(sample.need, picture, mirror),
      .full = sample.full.contains(mirror),
      .work = {.in_flight = read(counters.in_flight),
               .recent = watched.window.recent(),
               .last_second = watched.window.last_second(),
               .slowness = sample.slowness_of(
                   mirror, watched.track.current().condition == MirrorCondition::slow),
               .peers_mean = usual_time(sample.times_of(sample.peers_of(mirror))),
               .ping = picture.mirrors[mirror].rtt},
      .share = {.strategy = place.set.strategy_name(),
                .mirrors = place.set.size(),
                .attempts = sample.all_attempts}};
  const auto out = place.set.out_of_service();
  if (out.drained.contains(mirror)) signs.service = ServiceState::drain;
  if (out.maint.contains(mirror) && !agent.absent()) signs.service = ServiceState::maint;
  if (sample.all_attempts > 0)
    signs.share.part =
        static_cast<double>(sample.attempts[mirror]) / static_cast<double>(sample.all_attempts);
  // A mirror of a later level of the preference is asked when the others fail.
  if (sample.need != nullptr && !sample.may_serve.contains(mirror))
    signs.unsuitable = why_unsuitable(*sample.need, picture, mirror);
  if (errors > 0 || !signs.answered || signs.failures.goes_on() || signs.failures.in_a_row() > 0 ||
      signs.tripped || signs.silent || signs.unreachable || signs.untrusted)
    signs.last_error = in_one_line(agent.last_error());
  return signs;
}

void MirrorWatch::sample(const WatchedMirrors& mirrors, const Place& place, const Shard& shard,
                         TimePoint now, WallTime wall) {
  const auto& set = place.set;
  SetSample sample{.place = place, .shard = shard, .view = set.view(0), .full = set.full()};
  std::vector<const WorkWindow*> windows;
  for (std::size_t i = 0; i < set.size(); ++i) {
    mirrors[i]->window.add(work_of(set[i].tally));
    windows.push_back(&mirrors[i]->window);
    auto& answers = sample.answers.emplace_back();
    set[i].record->answers.append(now, kUsualTime, answers);
    std::ranges::sort(answers, {}, &RecentAnswer::age);
    sample.times.push_back(typical_time(answers));
    const auto condition = mirrors[i]->track.current().condition;
    sample.before.add(condition);
    if (can_be_asked(condition) && condition != MirrorCondition::failing) sample.usual.insert(i);
  }
  sample.attempts = attempts_of(windows);
  sample.all_attempts = std::reduce(sample.attempts.begin(), sample.attempts.end());
  const Selection selection(std::nullopt, place.table, place.topology.settings,
                            SelectionClass::may_use_secondary);
  sample.need = selection.at(shard);
  if (sample.need != nullptr)
    sample.may_serve =
        levels_for(*sample.need, sample.view->picture, Candidates::first(set.size())).all();
  const auto& standings = shard.protection->standings;
  if (standings.any_silent()) sample.silent = standings.silent();
  if (standings.any_unreachable()) sample.unreached = standings.unreachable();
  if (const auto& breaker = shard.protection->breaker) sample.tripped = breaker->tripped(now);
  Candidates changed;
  for (std::size_t i = 0; i < set.size(); ++i) {
    auto& mirror = *mirrors[i];
    const auto signs = signs_of(mirror, i, sample, now);
    auto& track = mirror.track;
    const auto before = track.current().condition;
    const bool changes = track.observe(diagnose(signs), now);
    sample.after.add(track.current().condition);
    if (!changes) continue;
    mirror.since = wall;
    troubles_ += is_trouble(track.current().condition) ? 1 : 0;
    troubles_ -= is_trouble(before) ? 1 : 0;
    changed.insert(i);
  }
  for (auto* const mirror : mirrors) mirror->unserved = sample.after.can_serve == 0;
  for (const auto i : changed) report(mirrors, i, sample, now, wall);
}

/// What a change means for the process, beside what it means for its shard. All is well where the
/// verdict of the status says so: a shard whose mirrors were all taken out has no trouble.
std::string MirrorWatch::state_of_process() const {
  if (troubles_ == 0) {
    const auto unserved = [](const auto& entry) { return entry.second.unserved; };
    const auto fails = [](const auto& entry) {
      return !entry.second.track.current().reason.empty();
    };
    const bool well =
        std::ranges::none_of(mirrors_, unserved) && std::ranges::none_of(tables_, fails);
    return well ? "; all well" : "";
  }
  if (troubles_ == 1) return {};
  return fmt::format("; {} mirrors are in trouble in all", troubles_);
}

void MirrorWatch::report(const WatchedMirrors& mirrors, std::size_t mirror, const SetSample& sample,
                         TimePoint now, WallTime wall) {
  const auto& place = sample.place;
  const auto& track = mirrors[mirror]->track;
  const auto from = track.before();
  const auto to = track.current().condition;
  if (is_quiet(from, to)) return;
  const auto severity = severity_of(to, sample.before, sample.after);
  const auto& agent = *place.set[mirror].agent;
  const MirrorReport report{.condition = to, .since = wall, .reason = track.current().reason};
  const OperatorEvent event{
      .severity = severity,
      .table = place.table.name,
      .shard = place.shard,
      .mirror = mirror + 1,
      .address = agent.name,
      .state = name(to),
      .former_state = name(from),
      .reason = report.reason,
      .last_error = agent.last_error(),
      .last_error_at = agent.last_error_at(),
      .message = fmt::format("table {}, shard {}: {}: {} (was {}{})", place.table.name, place.shard,
                             text(sample.after), diagnosis(agent.name, report), name(from),
                             state_of_process())};
  news_.tell(event, now, wall);
}

void OperatorLog::tell(const OperatorEvent& event, TimePoint now, WallTime wall) {
  events_.add(event, wall);
  const auto left_out = lines_.may_write(now);
  if (!left_out) return;
  const auto before =
      *left_out == 0 ? "" : fmt::format(" ({} left out before)", counted_noun(*left_out, "line"));
  log_with_members(event.severity, event.message + before, members_of(event));
}

namespace {

constexpr int kClientLeft = 499;
constexpr std::size_t kOther = kCountedCodes.size();

bool has_succeeded(std::size_t place) {
  return place < kOther && kCountedCodes[place] < 400;
}

bool is_mistake(std::size_t place) {
  if (place >= kOther) return false;
  const auto code = kCountedCodes[place];
  return code >= 400 && code < 500 && code != 404 && code != 429 && code != kClientLeft;
}

bool counts(std::size_t place) {
  return place >= kOther || kCountedCodes[place] != kClientLeft;
}

/// Neither a success nor the client's: of 4xx only a refusal because of overload.
bool has_failed(std::size_t place) {
  return place >= kOther || kCountedCodes[place] >= 500 || kCountedCodes[place] == 429;
}

template <class Counts, class Which>
std::uint64_t sum(const Counts& responses, Which which) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < responses.size(); ++i)
    if (which(i)) all += responses[i];
  return all;
}

/// `58 got 400, 2 got 502`: the three most frequent ones.
template <class Counts>
std::string by_code(const Counts& responses) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < responses.size(); ++i)
    if (counts(i) && responses[i] != 0) places.push_back(i);
  std::ranges::stable_sort(places, std::greater{}, [&](auto place) { return responses[place]; });
  constexpr std::size_t kShown = 3;
  if (places.size() > kShown) places.resize(kShown);
  std::string text;
  for (const auto place : places)
    text += fmt::format(
        "{}{} got {}", text.empty() ? "" : ", ", responses[place],
        place < kOther ? fmt::format("{}", kCountedCodes[place]) : std::string("another status"));
  return text;
}

}  // namespace

void TableSuccess::observe(const TableTotals& totals, TimePoint now) {
  const auto& before = samples_[(sampled_ + kSamples - 1) % kSamples];
  const auto& oldest = samples_[sampled_ < kSamples ? 0 : sampled_ % kSamples];
  const bool first = sampled_ == 0;
  Responses step{};
  for (std::size_t i = 0; i < step.size(); ++i) {
    step[i] = first ? 0 : totals.responses[i] - before[i];
    lately_[i] = first ? 0 : totals.responses[i] - oldest[i];
    unsuccessful_[i] += step[i];
  }
  samples_[sampled_++ % kSamples] = totals.responses;
  if (sum(step, has_succeeded) != 0) unsuccessful_ = {};
  if (sum(step, counts) != 0) last_ = now;
  past_ = !last_ || now - *last_ > kPast;
}

std::string TableSuccess::trouble() const {
  if (past_) return {};
  const auto none = sum(unsuccessful_, counts);
  if (none >= kMany || sum(unsuccessful_, has_failed) >= kFew)
    return fmt::format("none of the last {} queries succeeded: {}", none, by_code(unsuccessful_));
  const auto all = sum(lately_, counts);
  const auto mistakes = sum(lately_, is_mistake);
  if (all >= kMany && static_cast<double>(mistakes) >= kMistakes * static_cast<double>(all))
    return fmt::format(
        "{:.0f} % of the last {} queries were refused as their clients' mistakes: {}",
        100 * static_cast<double>(mistakes) / static_cast<double>(all), all, by_code(lately_));
  return {};
}

}  // namespace karmad
