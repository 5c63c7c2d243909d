#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "strategies/candidates.hpp"
#include "strategies/mirror_view.hpp"
#include "strategies/set_picture.hpp"

namespace karmad {

/// Keeps the mirrors that satisfy `wanted`, or all if none does: a bad mirror is better than none.
template <class Wanted>
Candidates prefer(Candidates from, Wanted wanted) {
  const auto kept = from.where(wanted);
  return kept.empty() ? from : kept;
}

/// Keeps the mirrors with the lowest `key`, an integer. Calls it for every position below
/// `from.bound()`, as Candidates::where() does.
template <class Key>
Candidates lowest(Candidates from, Key key) {
  auto least = std::numeric_limits<decltype(key(std::size_t{}))>::max();
  for (auto mirror : from) least = std::min(least, key(mirror));
  return from.where([&](auto mirror) { return key(mirror) == least; });
}

/// The lowest average round trip among `from`; nothing if none was measured.
inline std::optional<Micros> fastest_rtt(const SetDescription& picture, Candidates from) {
  std::optional<Micros> fastest;
  for (auto mirror : from) {
    if (mirror >= picture.mirrors.size()) break;
    const auto& rtt = picture.mirrors[mirror].rtt;
    if (rtt && (!fastest || *rtt < *fastest)) fastest = rtt;
  }
  return fastest;
}

/// Keeps the mirrors whose round trip is at most `window` above the lowest one (SS-155). A mirror
/// without a round trip is kept only if no mirror has one.
inline Candidates prefer_near(const SetDescription& picture, Candidates from, Micros window) {
  const auto fastest = fastest_rtt(picture, from);
  if (!fastest) return from;
  return prefer(from, [&](auto m) {
    return m < picture.mirrors.size() && picture.mirrors[m].rtt &&
           *picture.mirrors[m].rtt - *fastest <= window;
  });
}

/// Keeps the mirrors with at most `tolerated` errors in a row; if all have more, those with the
/// fewest (HA-007, HA-022).
inline Candidates prefer_alive(MirrorViews mirrors, Candidates from, std::uint32_t tolerated) {
  const auto alive = from.where([&](auto m) { return mirrors[m].errors_in_a_row <= tolerated; });
  if (!alive.empty()) return alive;
  return lowest(from, [&](auto m) { return mirrors[m].errors_in_a_row; });
}

/// Whether any mirror had a success in the window, so that `noerrors` can compare (HA-023).
inline bool any_succeeded(MirrorViews mirrors, Candidates from) {
  for (auto mirror : from)
    if (mirrors[mirror].rates.had_success()) return true;
  return false;
}

/// Keeps the mirrors with the lowest rate of critical outcomes, and of these those with the lowest
/// rate of errors and warnings (HA-008, HA-023). Mirrors without a success are excluded; if no
/// mirror had one, all stay.
inline Candidates prefer_fewest_errors(MirrorViews mirrors, Candidates from) {
  // The usual case: no rate is lower than 0.
  const auto clean = from.where([&](auto m) { return mirrors[m].rates.errors <= 0; });
  if (!clean.empty()) return clean;
  return lowest(from, [&](auto m) { return mirrors[m].rates.rank(); });
}

}  // namespace karmad
