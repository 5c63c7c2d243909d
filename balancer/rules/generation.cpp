#include "balancer/rules/generation.hpp"

#include <algorithm>

namespace karmad {

void ToldGenerations::add(std::size_t mirror, Generation generation) {
  if (generation) told_.emplace_back(mirror, *generation);
}

Generation ToldGenerations::known(std::size_t mirror, const SetView& view) const {
  auto newest = view.mirrors[mirror].description.generation;
  for (const auto& [whose, generation] : told_)
    if (whose == mirror) newest = std::max(newest, Generation(generation));
  return newest;
}

void BehindMarks::take_over(const BehindMarks& before, const FormerPlaces& places) {
  for_each_former(places, [&](std::size_t now, std::size_t then) {
    marks_[now].until = before.marks_[then].until.load(std::memory_order_relaxed);
    marks_[now].generation = before.marks_[then].generation.load(std::memory_order_relaxed);
  });
}

void BehindMarks::mark(std::size_t mirror, std::uint64_t generation, TimePoint until) {
  auto& mark = marks_[mirror];
  mark.generation.store(generation, std::memory_order_relaxed);
  mark.until.store(until.time_since_epoch().count(), std::memory_order_relaxed);
}

Candidates BehindMarks::behind(const SetView& view, std::uint64_t generation, TimePoint now) const {
  Candidates behind;
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    if (marks_[i].until.load(std::memory_order_relaxed) <= now.time_since_epoch().count()) continue;
    const auto missing = marks_[i].generation.load(std::memory_order_relaxed);
    const bool has_caught_up = view.mirrors[i].description.generation >= Generation(missing);
    if (missing <= generation && !has_caught_up) behind.insert(i);
  }
  return behind;
}

}  // namespace karmad
