#include <fmt/format.h>

#include <algorithm>

#include "strategies/read_preference.hpp"
#include "strategies/tags.hpp"

namespace karmad {
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
