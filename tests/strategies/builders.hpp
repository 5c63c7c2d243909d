#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "strategies/candidates.hpp"
#include "strategies/mirror_view.hpp"
#include "strategies/select.hpp"
#include "strategies/time.hpp"

namespace karmad::testing {

inline Candidates set_of(std::initializer_list<std::size_t> mirrors) {
  Candidates candidates;
  for (auto mirror : mirrors) candidates.insert(mirror);
  return candidates;
}

/// Healthy mirrors with these weights.
inline std::vector<MirrorView> with_karma(std::initializer_list<double> weights) {
  std::vector<MirrorView> mirrors;
  for (auto weight : weights) mirrors.push_back({.karma = weight, .rates = error_rates(100, 0, 0)});
  return mirrors;
}

inline std::vector<MirrorView> with_errors_in_a_row(std::initializer_list<std::uint32_t> errors) {
  std::vector<MirrorView> mirrors;
  for (auto count : errors) mirrors.push_back({.errors_in_a_row = count});
  return mirrors;
}

inline std::vector<MirrorView> with_rates(std::initializer_list<ErrorRates> rates) {
  std::vector<MirrorView> mirrors;
  for (const auto& rate : rates) mirrors.push_back({.rates = rate});
  return mirrors;
}

inline std::vector<MirrorView> with_in_flight(std::initializer_list<std::uint32_t> counts) {
  std::vector<MirrorView> mirrors;
  for (auto count : counts) mirrors.push_back({.in_flight = count});
  return mirrors;
}

/// A pick for a query without requirements; the set is not empty.
inline std::size_t pick_any(MirrorViews mirrors, Candidates avoided, const Strategy& strategy,
                            RandomSource& random) {
  return select({.avoided = avoided}, {}, mirrors, strategy, random).value().mirror;
}

using Means = std::vector<std::optional<Micros>>;

}  // namespace karmad::testing
