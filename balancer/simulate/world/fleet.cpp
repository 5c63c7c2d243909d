#include "balancer/simulate/world/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "agent/transport/http/http_head.hpp"
#include "balancer/simulate/replay/replay.hpp"

namespace karmad::simulate {
namespace {

using MirrorMode = MirrorProfile::Mode;

/// A longer queue is refused even without a limit, to bound the memory.
constexpr std::size_t kLongestQueue = 1'000'000;

/// The hint that karmad reads in an error answer without a body of its own.
ErrorHint hint_of(unsigned status, unsigned retry_after) {
  auto text = fmt::format("HTTP/1.1 {} Error\r\nContent-Length: 0\r\n", status);
  if (retry_after != 0) text += fmt::format("Retry-After: {}\r\n", retry_after);
  text += "\r\n";
  ResponseHead head;
  if (!parse_response_head(text, {}, false, head)) return {};
  return error_hint(static_cast<int>(status), head, ErrorBody(""), {});
}

void assign_all(MirrorProfile& profile, const Assignments& assignments) {
  for (const auto& [key, value] : assignments) (void)assign(profile, key, value);
}

}  // namespace

Fleet::Fleet(const Scenario& scenario, EventQueue& events, std::uint64_t seed, TimePoint begin)
    : events_(events), begin_(begin) {
  MirrorProfile profile;
  assign_all(profile, scenario.profile);
  mirrors_.reserve(scenario.mirrors);
  for (unsigned i = 0; i < scenario.mirrors; ++i)
    mirrors_.push_back({.profile = profile,
                        .service = random_stream(seed, RandomStream::service, i),
                        .faults = random_stream(seed, RandomStream::faults, i)});
  for (const auto& statement : scenario.mirror_statements)
    for (unsigned i = 0; i < mirrors_.size(); ++i)
      if (statement.mirrors.contains(i)) assign_all(mirrors_[i].profile, statement.profile);
  for (auto& mirror : mirrors_) note_errors(mirror);
  if (scenario.replay)
    for (unsigned i = 0; i < mirrors_.size(); ++i)
      mirrors_[i].recorded = scenario.replay->mirrors[i].recorded;
}

void Fleet::send(ObjectName attempt, unsigned mirror, TimePoint now) {
  if (mirrors_[mirror].recorded != nullptr) return replay(mirrors_[mirror], attempt, now);
  ++mirrors_[mirror].coming;
  events_.add_after(now, mirrors_[mirror].profile.network, EventKind::attempt_arrives, attempt,
                    mirror);
}

MirrorReply Fleet::recorded_reply(const ReplayedService& service) {
  using Kind = MirrorReply::Kind;
  switch (service.outcome) {
    case Outcome::answered:
    case Outcome::answered_with_warning:
      return {};
    case Outcome::connect_failed:
      return {.kind = Kind::refused};
    case Outcome::agent_error:
    case Outcome::client_mistake:
      if (service.status != 0)
        return {.kind = Kind::error, .error = number_of_error(service.status, 0)};
      [[fallthrough]];
    default:
      return {.kind = Kind::failure, .error = static_cast<std::uint16_t>(service.outcome)};
  }
}

/// The n-th attempt at a mirror gets the same draw with all strategies.
void Fleet::replay(Mirror& mirror, ObjectName attempt, TimePoint now) {
  const auto since = std::chrono::duration_cast<Micros>(now - begin_);
  const auto service = mirror.recorded->at(since, mirror.service.uniform());
  events_.add_at(now + service.took, EventKind::reply_arrives, attempt,
                 recorded_reply(service).packed());
}

/// A ping fails if a search at its time could not reach the mirror.
std::optional<MirrorReply> Fleet::recorded_ping(Mirror& mirror, TimePoint now) const {
  const auto since = std::chrono::duration_cast<Micros>(now - begin_);
  switch (mirror.recorded->at(since, mirror.faults.uniform()).outcome) {
    case Outcome::connect_failed:
      return MirrorReply{.kind = MirrorReply::Kind::refused};
    case Outcome::connect_timeout:
    case Outcome::unreachable:
      return std::nullopt;
    default:
      return MirrorReply{};
  }
}

std::optional<MirrorReply> Fleet::ping(unsigned number, TimePoint now) {
  auto& mirror = mirrors_[number];
  if (mirror.recorded != nullptr) return recorded_ping(mirror, now);
  const auto& profile = mirror.profile;
  if (profile.mode == MirrorMode::refuse) return MirrorReply{.kind = MirrorReply::Kind::refused};
  if (profile.mode != MirrorMode::ok) return std::nullopt;
  if (profile.pings_see_errors && profile.errors > 0 && mirror.faults.uniform() < profile.errors)
    return MirrorReply{.kind = MirrorReply::Kind::error, .error = mirror.error};
  return MirrorReply{};
}

void Fleet::attempt_arrives(const Event& event) {
  using Kind = MirrorReply::Kind;
  auto& mirror = mirrors_[event.detail];
  const auto& profile = mirror.profile;
  const auto attempt = event.subject;
  const auto now = event.at;
  --mirror.coming;
  if (profile.mode != MirrorMode::ok) {
    if (profile.mode == MirrorMode::refuse) reply(mirror, attempt, {.kind = Kind::refused}, now);
    if (profile.mode == MirrorMode::freeze) mirror.frozen.push_back(attempt);
    return;
  }
  if (profile.resets > 0 && mirror.faults.uniform() < profile.resets)
    return reply(mirror, attempt, {.kind = Kind::reset}, now);
  if (profile.errors > 0 && mirror.faults.uniform() < profile.errors) {
    if (profile.error_delay == Micros{0})
      return reply(mirror, attempt, {.kind = Kind::error, .error = mirror.error}, now);
    return events_.add_after(now, profile.error_delay, EventKind::mirror_replies, attempt,
                             event.detail);
  }
  const bool full = profile.servers != 0 && mirror.busy >= profile.servers;
  const bool over = full && mirror.waiting.size() >= profile.queue.value_or(kLongestQueue);
  if ((profile.rate > 0 && !take_token(mirror, now)) || over)
    return reply(mirror, attempt, {.kind = Kind::error, .error = mirror.overload}, now);
  if (full) return mirror.waiting.push_back(attempt);
  serve(mirror, event.detail, attempt, now);
}

/// The bucket holds the tokens of 50 ms, and at least one.
bool Fleet::take_token(Mirror& mirror, TimePoint now) const {
  const auto rate = mirror.profile.rate;
  const auto passed = static_cast<double>((now - mirror.tokens_at).count()) / 1e6;
  mirror.tokens = std::min(std::max(1.0, rate * 0.05), mirror.tokens + passed * rate);
  mirror.tokens_at = now;
  if (mirror.tokens < 1) return false;
  mirror.tokens -= 1;
  return true;
}

double Fleet::factor(const Mirror& mirror) {
  const auto& profile = mirror.profile;
  if (mirror.warmed >= profile.cold_requests) return profile.slow;
  const auto left = 1 - static_cast<double>(mirror.warmed) / profile.cold_requests;
  return profile.slow * (1 + (profile.cold_factor - 1) * left);
}

TimePoint Fleet::end_of_work(const MirrorProfile& profile, TimePoint start, Micros work) const {
  if (profile.stall_every <= Micros{0}) return start + work;
  const auto runs = profile.stall_every - profile.stall_for;
  // Before `begin_` the phase would be negative.
  const auto since = std::chrono::duration_cast<Micros>(start - begin_) % profile.stall_every;
  auto phase = since < Micros{0} ? since + profile.stall_every : since;
  auto at = start;
  for (;;) {
    if (phase < runs) {
      const auto room = runs - phase;
      if (work <= room) return at + work;
      work -= room;
      at += room;
    }
    at += profile.stall_every - std::max(phase, runs);
    phase = Micros{0};
  }
}

void Fleet::serve(Mirror& mirror, std::uint32_t number, ObjectName attempt, TimePoint now) {
  const auto work = mirror.profile.service.draw(mirror.service) * factor(mirror);
  ++mirror.busy;
  if (mirror.warmed < mirror.profile.cold_requests) ++mirror.warmed;
  events_.add_at(end_of_work(mirror.profile, now, Micros{std::llround(work)}), EventKind::work_done,
                 attempt, number);
}

std::uint16_t Fleet::reported_load(const Mirror& mirror) {
  const auto servers = mirror.profile.servers;
  if (!mirror.profile.reports_load || servers == 0) return MirrorReply::kNoLoad;
  return static_cast<std::uint16_t>(std::min(1000U, mirror.busy * 1000U / servers));
}

void Fleet::work_done(const Event& event) {
  auto& mirror = mirrors_[event.detail];
  const auto attempt = event.subject;
  if (mirror.profile.mode == MirrorMode::ok) {
    reply(mirror, attempt, {.load = reported_load(mirror)}, event.at);
  } else if (mirror.profile.mode == MirrorMode::freeze) {
    mirror.frozen.push_back(attempt);
  }
  --mirror.busy;
  if (mirror.waiting.empty() ||
      (mirror.profile.servers != 0 && mirror.busy >= mirror.profile.servers))
    return;
  const auto next = mirror.waiting.front();
  mirror.waiting.pop_front();
  serve(mirror, event.detail, next, event.at);
}

void Fleet::mirror_replies(const Event& event) {
  const auto& mirror = mirrors_[event.detail];
  reply(mirror, event.subject, {.kind = MirrorReply::Kind::error, .error = mirror.error}, event.at);
}

void Fleet::reply(const Mirror& mirror, ObjectName attempt, MirrorReply reply, TimePoint now) {
  events_.add_after(now, mirror.profile.network, EventKind::reply_arrives, attempt, reply.packed());
}

bool Fleet::change(unsigned number, const Assignments& assignments, TimePoint now) {
  auto& mirror = mirrors_[number];
  const auto before = mirror.profile.mode;
  const auto cold_starts = mirror.profile.cold_starts;
  assign_all(mirror.profile, assignments);
  note_errors(mirror);
  if (mirror.profile.cold_starts != cold_starts) mirror.warmed = 0;
  const auto mode = mirror.profile.mode;
  if (before == MirrorMode::freeze && mode == MirrorMode::ok)
    for (const auto& attempt : std::exchange(mirror.frozen, {})) reply(mirror, attempt, {}, now);
  const bool dies = mode == MirrorMode::refuse && before != MirrorMode::refuse;
  if (dies) {
    mirror.waiting.clear();
    mirror.frozen.clear();
  }
  return dies;
}

double Fleet::expected_micros(unsigned number, unsigned load, TimePoint now) const {
  constexpr auto kNever = std::numeric_limits<double>::infinity();
  const auto& mirror = mirrors_[number];
  const auto& profile = mirror.profile;
  const auto failing = profile.errors + profile.resets;
  if (profile.mode != MirrorMode::ok || failing >= 1) return kNever;
  const auto service = profile.service.mean_micros() * factor(mirror);
  auto wait = 0.0;
  if (profile.servers != 0 && load >= profile.servers) {
    const auto waiting = load - profile.servers;
    if (profile.queue && waiting >= *profile.queue) return kNever;
    wait = (waiting + 1) * service / profile.servers;
  }
  const auto start = now + profile.network;
  const auto work = Micros{std::llround(wait + service)};
  const auto took = static_cast<double>((end_of_work(profile, start, work) - now).count());
  return (took + static_cast<double>(profile.network.count())) / (1 - failing);
}

void Fleet::note_errors(Mirror& mirror) {
  const auto& profile = mirror.profile;
  mirror.error = number_of_error(profile.error_status, profile.retry_after);
  mirror.overload = number_of_error(profile.overload_status, profile.retry_after);
}

/// Only 429 and 503 have a Retry-After.
std::uint16_t Fleet::number_of_error(unsigned status, unsigned retry_after) {
  if (status != 429 && status != 503) retry_after = 0;
  for (std::size_t i = 0; i < errors_.size(); ++i)
    if (errors_[i].status == status && errors_[i].retry_after == retry_after)
      return static_cast<std::uint16_t>(i);
  errors_.push_back({status, retry_after, hint_of(status, retry_after)});
  return static_cast<std::uint16_t>(errors_.size() - 1);
}

}  // namespace karmad::simulate
