#pragma once

#include <initializer_list>
#include <string_view>

#include "strategies/set_picture.hpp"
#include "strategies/tags.hpp"

namespace karmad::testing {

inline Tags tags(std::string_view short_form) {
  return parse_tags(short_form, ',').value();
}
inline std::vector<Tags> tag_sets(std::string_view short_form) {
  return parse_tag_sets(short_form).value();
}

inline MirrorFacts mirror(Role role, std::string_view labels = "") {
  return {.role = role, .tags = tags(labels)};
}

/// Mirrors whose pings took so long on average; empty: not measured.
inline std::vector<MirrorFacts> with_rtt(Role role,
                                         std::initializer_list<std::optional<Micros>> trips) {
  std::vector<MirrorFacts> mirrors;
  for (auto trip : trips) mirrors.push_back({.role = role, .rtt = trip});
  return mirrors;
}

/// Said at `updated` by the master's clock that its newest update is of `written` by its own.
inline MirrorFacts written(Role role, Micros updated, Micros written) {
  return {.role = role, .last_write = written, .updated = TimePoint(updated)};
}

inline SetDescription picture(SetKind kind, std::vector<MirrorFacts> mirrors,
                              Micros ping_interval = std::chrono::seconds(10)) {
  return {.kind = kind, .ping_interval = ping_interval, .mirrors = std::move(mirrors)};
}

}  // namespace karmad::testing
