#include "agent/health/state.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <compare>
#include <ranges>
#include <string_view>
#include <utility>

#include "agent/json/json_tree.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestQuote = 128;         // of a mirror's text in a reason
constexpr std::int64_t kLatest = 253402300799999;  // ms: the end of the year 9999

bool belongs_to_roles(Role role) {
  return role == Role::primary || role == Role::replica || role == Role::arbiter;
}

SetKind learned_from(Role role, const Description& description, std::size_t mirrors) {
  if (belongs_to_roles(role) || (role == Role::other && description.set)) return SetKind::roles;
  if (role == Role::router) return SetKind::flat;
  if (role == Role::standalone && mirrors == 1) return SetKind::direct;
  return SetKind::unknown;
}

bool is_known(const Description& description) {
  return description.api >= kOldestApi && description.api <= kNewestApi;
}

/// Whether both are of the same process, so that the counters can be compared.
bool comparable(const std::optional<VersionMark>& a, const std::optional<VersionMark>& b) {
  return a && b && a->process_id == b->process_id;
}

std::string_view quote(std::string_view words) {
  return words.substr(0, kLongestQuote);
}

/// Compares numbers given as digits of any base; a missing one is lowest.
std::strong_ordering compare(const std::optional<std::string>& a,
                             const std::optional<std::string>& b) {
  if (!a || !b) return (a ? 1 : 0) <=> (b ? 1 : 0);
  const auto digits = [](std::string_view id) {
    return id.substr(std::min(id.find_first_not_of('0'), id.size()));
  };
  const auto x = digits(*a);
  const auto y = digits(*b);
  return x.size() != y.size() ? x.size() <=> y.size() : x.compare(y) <=> 0;
}

}  // namespace

SetState::SetState(SetSettings settings, std::vector<Member> members)
    : settings_(std::move(settings)), members_(std::move(members)), mirrors_(members_.size()) {
  const auto has_role = [](const Member& m) { return m.role && belongs_to_roles(*m.role); };
  picture_.kind = settings_.kind;
  if (picture_.kind == SetKind::unknown && std::ranges::any_of(members_, has_role))
    picture_.kind = SetKind::roles;
  picture_.ping_interval = settings_.ping_interval;
  picture_.tags_in_flat = settings_.tags_in_flat;
  picture_.mirrors.resize(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i)
    picture_.mirrors[i].tags = members_[i].tags.value_or(Tags{});
  if (!always_there()) return;

  if (picture_.kind == SetKind::unknown) picture_.kind = SetKind::flat;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto role = role_of(i);  // without pings: as configured, or a router
    mirrors_[i].why = why_misfit(role);
    mirrors_[i].misfit = !mirrors_[i].why.empty();
    if (!mirrors_[i].misfit) picture_.mirrors[i].role = role;
  }
}

void SetState::take_over(const SetState& before, const FormerPlaces& places) {
  auto same = before.settings_;
  same.ping_interval = settings_.ping_interval;
  if (settings_ != same || always_there()) return;
  picture_.kind = before.picture_.kind;
  kind_guessed_ = before.kind_guessed_;
  freshness_ = before.freshness_;
  newest_election_ = before.newest_election_;
  newest_set_version_ = before.newest_set_version_;
  for_each_former(places, [&](std::size_t now, std::size_t then) {
    if (members_[now] != before.members_[then]) return;
    mirrors_[now] = before.mirrors_[then];
    picture_.mirrors[now] = before.picture_.mirrors[then];
  });
  note_compatibility();
}

Effects SetState::answered(std::size_t mirror, Description description, Micros trip,
                           TimePoint now) {
  auto& m = mirrors_[mirror];
  if (always_there()) return {};
  if (comparable(description.version, m.version) &&
      description.version->counter < m.version->counter)
    return {};  // older than the current one (SD-015)
  // It has told nothing: what it told before holds.
  if (description.denied && m.answers_pings && serves(m.description.role))
    description = m.description;
  const auto generation_before = m.description.generation;
  m.description = std::move(description);
  m.version = m.description.version;
  m.reached = m.answers_pings = true;
  m.unreachable = false;
  note_compatibility();

  const auto refuse = [&](std::string why) {
    becomes_unknown(mirror, std::move(why), now);
    return Effects{};
  };
  if (auto why = why_refused(mirror); !why.empty()) return refuse(std::move(why));
  const auto role = role_of(mirror);
  learn_kind(role, m.description);
  if (auto why = why_misfit(role); !why.empty()) {
    refuse(std::move(why));
    m.misfit = true;
    return {};
  }
  if (has_other_address(mirror, role))
    return refuse(fmt::format("reports the address {}, not {}", quote(*m.description.me),
                              members_[mirror].address));

  Effects effects;
  if (role == Role::primary && picture_.kind == SetKind::roles) {
    if (!wins_election(m.description))
      return refuse("primary marked stale due to electionId/setVersion mismatch");
    effects = demote_others(mirror, now);
    // Updates that only a former primary had are lost; a lower counter has restarted.
    const auto is_new = facts(mirror).role != Role::primary;
    if (m.description.generation && (is_new || generation_before > m.description.generation))
      freshness_.forget_newer(*m.description.generation);
  }
  take_in(mirror, role, trip, now);
  return effects;
}

Effects SetState::failed(std::size_t mirror, PingFailure failure, std::string why, TimePoint now) {
  if (always_there()) return {};
  Effects effects;
  auto& m = mirrors_[mirror];
  const auto was_known = facts(mirror).role != Role::unknown;
  if (m.reached) drop_connections(mirror, effects);
  if (was_known && failure == PingFailure::network) effects.check_now.insert(mirror);
  // If no ping was ever answered, the pings themselves may be wrong.
  if (failure == PingFailure::timeout && m.answers_pings) effects.interrupt.insert(mirror);
  m.unreachable = failure == PingFailure::timeout || failure == PingFailure::network;
  m.version.reset();
  becomes_unknown(mirror, std::move(why), now);
  return effects;
}

Effects SetState::on_error(std::size_t mirror, const UseError& error, TimePoint now) {
  using What = UseError::What;
  auto& m = mirrors_[mirror];
  if (error.generation < m.generation) return {};  // SD-024
  if (comparable(error.version, m.version) && error.version->counter <= m.version->counter)
    return {};                                 // known or outdated (SD-015)
  if (error.what == What::timeout) return {};  // SD-021, SD-022
  if (error.what == What::network && error.when == UseError::When::connecting) return {};

  Effects effects;
  if (error.what == What::network || error.what == What::shutting_down)
    drop_connections(mirror, effects);
  if (always_there()) return effects;
  if (error.what == What::network)
    effects.cancel_ping.insert(mirror);
  else if (error.what != What::name_refused)
    effects.check_now.insert(mirror);
  m.version = error.version;
  becomes_unknown(mirror, error.why, now);
  return effects;
}

std::optional<std::size_t> SetState::primary() const {
  const auto found = std::ranges::find(picture_.mirrors, Role::primary, &MirrorFacts::role);
  if (found == picture_.mirrors.end()) return std::nullopt;
  return static_cast<std::size_t>(found - picture_.mirrors.begin());
}

bool SetState::mixed() const {
  return picture_.kind != SetKind::unknown && std::ranges::any_of(mirrors_, &MirrorState::misfit);
}

/// The role with the configured override, which never hides an error.
Role SetState::role_of(std::size_t mirror) const {
  const auto reported = mirrors_[mirror].description.role;
  const auto replaced = serves(reported) || reported == Role::unknown;
  return replaced ? members_[mirror].role.value_or(reported) : reported;
}

/// A mirror that has a set but no role now, or that told nothing without other credentials, may
/// become a replica or a router: the first mirror that serves and tells decides.
void SetState::learn_kind(Role role, const Description& description) {
  const bool is_better =
      kind_guessed_ && !description.denied && (belongs_to_roles(role) || role == Role::router);
  if (picture_.kind != SetKind::unknown && !is_better) return;
  picture_.kind = learned_from(role, description, mirrors_.size());
  kind_guessed_ =
      description.denied || (picture_.kind == SetKind::roles && !belongs_to_roles(role));
}

/// Why a description is rejected in any kind of set (SD-016, SS-121).
std::string SetState::why_refused(std::size_t mirror) const {
  const auto& description = mirrors_[mirror].description;
  if (!is_known(description))
    return fmt::format("its description has version {}, karmad understands {} to {}",
                       description.api, kOldestApi, kNewestApi);
  if (settings_.name && description.set && *description.set != *settings_.name)
    return fmt::format("belongs to the set {}, not {}", quote(*description.set), *settings_.name);
  return {};
}

std::string SetState::why_misfit(Role role) const {
  const auto is_roleless = role == Role::router || role == Role::standalone;
  if (picture_.kind == SetKind::roles && is_roleless)
    return fmt::format("is a {} in a set with roles", name(role));
  if (picture_.kind == SetKind::flat && belongs_to_roles(role))
    return fmt::format("has the role {} in a flat set", name(role));
  if (picture_.kind == SetKind::unknown && role == Role::standalone)
    return "is standalone in a set of several mirrors";
  return {};
}

/// A primary may use another address, as there is only one (SD-016).
bool SetState::has_other_address(std::size_t mirror, Role role) const {
  const auto& me = mirrors_[mirror].description.me;
  return picture_.kind == SetKind::roles && role != Role::primary && me &&
         !wire::same_word(*me, members_[mirror].address);
}

/// Whether no newer election than the candidate's is known; if so, stores it (SD-014).
bool SetState::wins_election(const Description& claimant) {
  const auto& election = claimant.election_id;
  const auto& version = claimant.set_version;
  const auto by_election = compare(election, newest_election_);
  if (claimant.api >= 2) {
    if (by_election < 0 || (by_election == 0 && version < newest_set_version_)) return false;
    newest_election_ = election;
    newest_set_version_ = version;
    return true;
  }
  if (election && version) {
    const auto both_known = newest_election_ && newest_set_version_;
    if (both_known &&
        (version < newest_set_version_ || (version == newest_set_version_ && by_election < 0)))
      return false;
    newest_election_ = election;
  }
  newest_set_version_ = std::max(newest_set_version_, version);
  return true;
}

/// Keeps at most one primary; connections to the former one stay open (SD-014).
Effects SetState::demote_others(std::size_t primary, TimePoint now) {
  Effects effects;
  for (std::size_t i = 0; i < mirrors_.size(); ++i) {
    if (i == primary || facts(i).role != Role::primary) continue;
    mirrors_[i].version.reset();
    becomes_unknown(i, "primary marked stale due to discovery of newer primary", now);
    effects.check_now.insert(i);
  }
  return effects;
}

/// The time of the mirror's newest update: as reported, else from its generation. A primary is
/// always fresh.
std::optional<Micros> SetState::last_write(std::size_t mirror, Role role, TimePoint now) {
  const auto& description = mirrors_[mirror].description;
  if (description.last_write_ms && *description.last_write_ms >= 0 &&
      *description.last_write_ms <= kLatest)
    return std::chrono::milliseconds(*description.last_write_ms);
  if (!description.generation) return std::nullopt;
  freshness_.seen(*description.generation, now);
  const auto until =
      role == Role::primary ? now : freshness_.fresh_until(*description.generation, now);
  return until.time_since_epoch();
}

/// Replaces the mirror's facts by the description (SD-009); keeps its round trips (SD-010).
void SetState::take_in(std::size_t mirror, Role role, Micros trip, TimePoint now) {
  auto& m = mirrors_[mirror];
  const auto& configured = members_[mirror];
  m.misfit = false;
  m.why.clear();
  if (!serves(role))
    m.why = role != m.description.role || m.description.why.empty()
                ? fmt::format("its role is {}", name(role))
                : m.description.why;
  if (role == Role::unknown)
    m.trips.clear();
  else
    m.trips.add(trip);
  picture_.mirrors[mirror] = {.role = role,
                              .tags = configured.tags.value_or(m.description.tags),
                              .rtt = m.trips.smoothed(),
                              .last_write = last_write(mirror, role, now),
                              .updated = now};
}

/// Drops all facts about the mirror, also its round trips (SS-151, SD-010).
void SetState::becomes_unknown(std::size_t mirror, std::string why, TimePoint now) {
  auto& m = mirrors_[mirror];
  m.why = std::move(why);
  m.misfit = false;
  m.trips.clear();
  picture_.mirrors[mirror] = {.tags = members_[mirror].tags.value_or(Tags{}), .updated = now};
}

void SetState::drop_connections(std::size_t mirror, Effects& effects) {
  auto& m = mirrors_[mirror];
  ++m.generation;
  m.reached = false;
  effects.drop_idle.insert(mirror);
}

void SetState::note_compatibility() {
  picture_.incompatible = std::ranges::none_of(mirrors_, is_known, &MirrorState::description);
}

void Freshness::seen(std::uint64_t generation, TimePoint at) {
  if (!firsts_.empty() && firsts_.back().generation >= generation) return;
  if (firsts_.size() == kMost) merge_two(at);
  firsts_.push_back({generation, firsts_.empty() ? at : std::max(at, firsts_.back().at)});
}

TimePoint Freshness::fresh_until(std::uint64_t generation, TimePoint at) const {
  const auto newer = std::ranges::upper_bound(firsts_, generation, {}, &First::generation);
  return newer == firsts_.end() ? at : std::min(at, newer->at);
}

void Freshness::forget_newer(std::uint64_t generation) {
  const auto newer = std::ranges::upper_bound(firsts_, generation, {}, &First::generation);
  firsts_.erase(newer, firsts_.end());
}

void Freshness::merge_two(TimePoint now) {
  // Relative to the age: a lag of an hour may be known to the minute, a lag of a second may not.
  const auto loss = [&](std::size_t i) {
    const auto gap = static_cast<double>((firsts_[i + 1].at - firsts_[i].at).count());
    return gap / (1.0 + static_cast<double>((now - firsts_[i].at).count()));
  };
  const auto best =
      *std::ranges::min_element(std::views::iota(std::size_t{0}, firsts_.size() - 1), {}, loss);
  firsts_[best].generation = firsts_[best + 1].generation;
  firsts_.erase(firsts_.begin() + static_cast<std::ptrdiff_t>(best) + 1);
}

namespace {

using Json = rapidjson::Value;
using What = UseError::What;

struct Meaning {
  What what;
  std::string_view type;
  std::string_view words;
  std::array<std::int64_t, 3> codes;
};
constexpr Meaning kMeanings[] = {
    {What::not_primary, "not_primary", "says that it is not the primary", {10107, 13435, 10058}},
    {What::recovering, "recovering", "says that it is recovering", {11602, 13436, 189}},
    {What::shutting_down, "shutting_down", "says that it is shutting down", {11600, 91, 91}}};

/// By its code, if it has one: that decides, also an unknown one. Null: another error.
const Meaning* meaning_of(bool coded, std::int64_t code, std::string_view type) {
  for (const auto& each : kMeanings)
    if (coded ? std::ranges::find(each.codes, code) != each.codes.end() : each.type == type)
      return &each;
  return nullptr;
}

/// Whether that error means that the request was refused before any work.
bool is_refusal(What what, std::int64_t code) {
  constexpr std::int64_t not_primary_or_secondary = 13436;
  return what == What::not_primary || code == not_primary_or_secondary;
}

std::optional<VersionMark> version_in(const Json* object) {
  const auto* version = member_of(object, "version");
  const auto* process_id = member_of(version, "process_id");
  const auto* counter = member_of(version, "counter");
  if (process_id == nullptr || !process_id->IsString()) return std::nullopt;
  if (counter == nullptr || !counter->IsInt64()) return std::nullopt;
  return VersionMark{std::string(text_of(*process_id)), counter->GetInt64()};
}

/// The error in one object, without its nested objects.
std::optional<UseError> said_by(const Json* object) {
  const auto* code = member_of(object, "code");
  const bool coded = code != nullptr && code->IsNumber();
  const auto number = coded && code->IsInt64() ? code->GetInt64() : 0;
  const auto* const meaning = meaning_of(coded, number, text_of(member_of(object, "type")));
  if (meaning == nullptr) return std::nullopt;
  return UseError{
      .what = meaning->what,
      .version = version_in(object),
      .why = fmt::format("{}{}", meaning->words, coded ? fmt::format(" (code {})", number) : ""),
      .nothing_done = is_refusal(meaning->what, number)};
}

/// Whether the answer lists or counts results of parts of an update.
bool tells_of_effects(const Json* object) {
  for (const auto* list :
       {"items", "writeErrors", "writeConcernError", "writeConcernErrors", "upserted"}) {
    const auto* value = member_of(object, list);
    if (value == nullptr) continue;
    if ((value->IsArray() && !value->Empty()) || (value->IsObject() && !value->ObjectEmpty()))
      return true;
  }
  for (const auto* count : {"n", "nInserted", "nUpserted", "nMatched", "nModified", "nRemoved",
                            "created", "updated", "deleted", "inserted", "replaced"}) {
    const auto* value = member_of(object, count);
    if (value == nullptr) continue;
    if (value->IsTrue() || (value->IsNumber() && value->GetDouble() != 0)) return true;
  }
  return false;
}

}  // namespace

std::optional<UseError> state_error(const ErrorBody& body, bool refused_as_replica) {
  const Json* top = body.object();
  std::optional<UseError> error;
  for (const auto* object : {top, member_of(top, "error"), member_of(top, "writeConcernError")})
    if (!error) error = said_by(object);
  if (!error && refused_as_replica)
    error = UseError{.what = What::not_primary,
                     .why = fmt::format("{} (403/3)", kMeanings[0].words),
                     .nothing_done = true};
  if (!error) return std::nullopt;
  if (!error->version) error->version = version_in(top);
  if (tells_of_effects(top) || tells_of_effects(member_of(top, "error")))
    error->nothing_done = false;
  return error;
}

}  // namespace karmad
