#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "agent/health/state.hpp"

namespace karmad::testing {

using namespace std::chrono_literals;

using What = UseError::What;
using When = UseError::When;

inline TimePoint at(Micros since_epoch) {
  return TimePoint{since_epoch};
}

inline Candidates only(std::size_t mirror) {
  Candidates one;
  one.insert(mirror);
  return one;
}

inline std::vector<Member> three() {
  return {{.address = "a:1"}, {.address = "b:1"}, {.address = "c:1"}};
}

inline SetState set_of(SetKind kind, std::vector<Member> members = three()) {
  return {{.kind = kind, .ping_interval = 10s}, std::move(members)};
}

/// a is the primary, b and c are replicas, all within the first second.
inline SetState settled() {
  auto state = set_of(SetKind::roles);
  state.answered(0, {.role = Role::primary}, 1ms, at(1s));
  state.answered(1, {.role = Role::replica}, 2ms, at(1s));
  state.answered(2, {.role = Role::replica}, 3ms, at(1s));
  return state;
}

inline std::vector<Role> roles(const SetState& state) {
  std::vector<Role> all;
  for (const auto& mirror : state.picture().mirrors) all.push_back(mirror.role);
  return all;
}

inline UseError error(What what, When when = When::in_use) {
  return {.when = when, .what = what, .why = "so it is"};
}

inline const VersionMark kFirst{"process", 1};
inline const VersionMark kSecond{"process", 2};
inline const VersionMark kOther{"another", 1};

}  // namespace karmad::testing
