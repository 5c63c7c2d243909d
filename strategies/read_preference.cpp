#include "strategies/read_preference.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <string_view>

namespace karmad {
namespace {

using std::chrono::seconds;

/// a - b, saturated: values reported by mirrors are not trusted.
Micros difference(Micros a, Micros b) {
  std::int64_t result = 0;
  if (!__builtin_sub_overflow(a.count(), b.count(), &result)) return Micros{result};
  return a < b ? Micros::min() : Micros::max();
}

Micros sum(Micros a, Micros b) {
  std::int64_t result = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &result)) return Micros{result};
  return a < Micros{0} ? Micros::min() : Micros::max();
}

/// Age of the mirror's newest update when it was reported. Uses two clocks, so only differences
/// between mirrors have a meaning.
Micros age(const MirrorFacts& facts) {
  return difference(facts.updated.time_since_epoch(), *facts.last_write);
}

/// The reference for replicas: the primary's age if known, else that of the newest update.
class Freshness {
 public:
  explicit Freshness(const SetDescription& picture) : ping_interval_(picture.ping_interval) {
    for (const auto& facts : picture.mirrors) {
      if (!facts.last_write) continue;
      if (facts.role == Role::primary) primary_age_ = age(facts);
      if (facts.role == Role::replica) newest_ = std::max(newest_, *facts.last_write);
    }
  }

  std::optional<Micros> lag(const MirrorFacts& facts) const {
    if (facts.role != Role::replica) return Micros{0};
    if (!facts.last_write) return std::nullopt;
    const auto behind = primary_age_ ? difference(age(facts), *primary_age_)
                                     : difference(newest_, *facts.last_write);
    return sum(behind, ping_interval_);
  }

 private:
  Micros ping_interval_;
  std::optional<Micros> primary_age_;
  Micros newest_ = Micros::min();
};

Candidates with_role(Role role, const SetDescription& picture, Candidates from) {
  return from.where(
      [&](auto m) { return m < picture.mirrors.size() && picture.mirrors[m].role == role; });
}

Candidates fresh(const ReadPreference& preference, const SetDescription& picture, Candidates from) {
  if (!preference.max_staleness || from.empty()) return from;
  const Freshness freshness(picture);
  Candidates kept;
  for (auto mirror : from) {
    const auto lag = freshness.lag(picture.mirrors[mirror]);
    if (lag && *lag <= *preference.max_staleness) kept.insert(mirror);
  }
  return kept;
}

// Each calls `use` with the levels in order, until it returns true: then the rest is not needed.

/// The first tag set that matches any mirror decides (SS-063).
template <class Use>
bool by_tags(const ReadPreference& preference, const SetDescription& picture, Candidates from,
             Use use) {
  if (preference.tag_sets.empty()) return use(from);
  for (const auto& wanted : preference.tag_sets) {
    Candidates kept;
    for (auto mirror : from)
      if (has_all(picture.mirrors[mirror].tags, wanted)) kept.insert(mirror);
    if (use(kept)) return true;
  }
  return false;
}

template <class Use>
bool by_role(const Need& need, const SetDescription& picture, Candidates from, Use use) {
  const auto& preference = need.preference;
  const auto primary = with_role(Role::primary, picture, from);
  if (need.operation == Operation::write || preference.mode == Mode::primary) return use(primary);
  if (preference.mode == Mode::primary_preferred && use(primary)) return true;
  auto others = with_role(Role::replica, picture, from);
  if (preference.mode == Mode::nearest) others = primary | others;
  if (by_tags(preference, picture, fresh(preference, picture, others), use)) return true;
  return preference.mode == Mode::secondary_preferred && use(primary);
}

template <class Use>
void for_levels(const Need& need, const SetDescription& picture, Candidates from, Use use) {
  if (picture.incompatible) return;  // SS-121
  switch (picture.kind) {
    case SetKind::unknown:
      break;
    case SetKind::balanced:
      use(from);
      break;
    case SetKind::direct:
      use(from.where([&](auto m) {
        return m < picture.mirrors.size() && picture.mirrors[m].role != Role::unknown;
      }));
      break;
    case SetKind::flat: {
      const auto available = with_role(Role::router, picture, from);
      if (picture.tags_in_flat && need.operation == Operation::read)
        by_tags(need.preference, picture, available, use);
      else
        use(available);
      break;
    }
    case SetKind::roles:
      by_role(need, picture, from, use);
      break;
  }
}

}  // namespace

std::optional<InvalidPreference> invalid(const ReadPreference& preference) {
  const auto limit = preference.max_staleness;
  if (limit && (*limit <= seconds(0) || *limit > kLargestStaleness))
    return InvalidPreference{
        0, fmt::format("maxStalenessSeconds is {}, it must be between 1 and {}, or -1 for no limit",
                       limit->count(), kLargestStaleness.count())};
  if (preference.mode != Mode::primary) return std::nullopt;
  constexpr std::string_view kOthers =
      "it always uses the primary; use another mode, such as primaryPreferred";
  if (limit)
    return InvalidPreference{
        0, fmt::format("maxStalenessSeconds has no meaning with mode primary: {}", kOthers)};
  if (!std::ranges::all_of(preference.tag_sets, &Tags::empty))
    return InvalidPreference{0, fmt::format("tags have no meaning with mode primary: {}", kOthers)};
  return std::nullopt;
}

std::optional<InvalidPreference> invalid_for(const ReadPreference& preference, SetKind kind,
                                             Micros ping_interval) {
  if (auto wrong = invalid(preference)) return wrong;
  if (kind != SetKind::roles || !preference.max_staleness) return std::nullopt;
  const auto limit = Micros(*preference.max_staleness);
  const auto least = std::max(Micros(kSmallestStaleness), sum(ping_interval, kIdleWritePeriod));
  if (limit >= least) return std::nullopt;
  return InvalidPreference{
      160, fmt::format("maxStalenessSeconds is {}, it must be at least {} here: {}, and the ping "
                       "interval of {} ms and {}",
                       preference.max_staleness->count(), std::chrono::ceil<seconds>(least).count(),
                       kSmallestStaleness, ping_interval / std::chrono::milliseconds(1),
                       kIdleWritePeriod)};
}

std::optional<Micros> staleness(const SetDescription& picture, std::size_t mirror) {
  return Freshness(picture).lag(picture.mirrors[mirror]);
}

PreferenceLevels levels_for(const Need& need, const SetDescription& picture, Candidates from) {
  PreferenceLevels levels;
  for_levels(need, picture, from, [&](Candidates level) {
    levels.add(level);
    return false;
  });
  return levels;
}

Candidates suitable_for(const Need& need, const SetDescription& picture, Candidates from) {
  Candidates suitable;
  for_levels(need, picture, from, [&](Candidates level) {
    suitable = level;
    return !level.empty();
  });
  return suitable;
}

std::optional<ReadPreference> passed_on(const std::optional<ReadPreference>& asked, SetKind kind,
                                        Role role) {
  const bool says_something = asked && asked->mode != Mode::primary;
  if (kind == SetKind::direct) {
    if (role == Role::standalone) return std::nullopt;  // SS-095
    // SS-096: a single copy of any role must accept the read. A router chooses itself, and a mirror
    // of unknown role may be either.
    const bool one_copy = role != Role::router && role != Role::unknown;
    if (one_copy && !says_something) return ReadPreference{.mode = Mode::primary_preferred};
  }
  return says_something ? asked : std::nullopt;  // SS-090, SS-091, SS-097
}

namespace {

std::string in_seconds(Micros time) {
  return fmt::format("{} s", static_cast<double>(time.count()) / 1e6);
}

/// Empty if it is fresh enough.
std::string why_stale(const ReadPreference& preference, const SetDescription& picture,
                      std::size_t mirror) {
  const auto limit = preference.max_staleness;
  const auto lag = staleness(picture, mirror);
  if (!limit || (lag && *lag <= *limit)) return {};
  if (!lag)
    return fmt::format("does not report its staleness, the limit is {}", in_seconds(*limit));
  return fmt::format("lags {}, the limit is {}", in_seconds(*lag), in_seconds(*limit));
}

bool has_primary(const SetDescription& picture) {
  return std::ranges::find(picture.mirrors, Role::primary, &MirrorFacts::role) !=
         picture.mirrors.end();
}

std::string why_tags(const ReadPreference& preference, const SetDescription& picture,
                     std::size_t mirror) {
  const auto& tags = picture.mirrors[mirror].tags;
  for (const auto& wanted : preference.tag_sets)
    if (has_all(tags, wanted)) return "another mirror has a tag set that is preferred";
  return fmt::format("has no tag set of {}", text(preference.tag_sets));
}

/// For a primary or replica in a set with roles.
std::string why_by_mode(const Need& need, const SetDescription& picture, std::size_t mirror) {
  const auto& preference = need.preference;
  const bool is_primary = picture.mirrors[mirror].role == Role::primary;
  if (need.operation == Operation::write) return "is a replica, updates go to the primary";
  if (preference.mode == Mode::primary) return "is a replica, only the primary is wanted";
  if (is_primary && preference.mode == Mode::secondary)
    return "is the primary, only replicas are wanted";
  if (is_primary && preference.mode == Mode::secondary_preferred)
    return "is the primary, replicas are preferred";
  if (preference.mode == Mode::primary_preferred && has_primary(picture))
    return "is a replica, the primary is preferred";
  if (auto why = why_stale(preference, picture, mirror); !why.empty()) return why;
  return why_tags(preference, picture, mirror);
}

}  // namespace

std::string why_unsuitable(const Need& need, const SetDescription& picture, std::size_t mirror) {
  const auto all = Candidates::first(picture.mirrors.size());
  if (suitable_for(need, picture, all).contains(mirror)) return {};
  if (picture.incompatible) return "no mirror of its set answers pings in a known version";
  if (mirror >= picture.mirrors.size() || picture.mirrors[mirror].role == Role::unknown)
    return "its role is unknown";
  if (picture.kind == SetKind::unknown) return "the kind of its set is not known yet";
  const auto role = picture.mirrors[mirror].role;
  if (picture.kind == SetKind::flat && role == Role::router)
    return why_tags(need.preference, picture, mirror);
  if (picture.kind == SetKind::roles && (role == Role::primary || role == Role::replica))
    return why_by_mode(need, picture, mirror);
  return fmt::format("role is {}", name(role));
}

}  // namespace karmad
