#include "strategies/select.hpp"

#include "strategies/narrow.hpp"

namespace karmad {
namespace {

Candidates suitable_among(Candidates from, const SelectionCriteria& criteria,
                          const SetDescription& picture) {
  return criteria.need == nullptr ? from : suitable_for(*criteria.need, picture, from);
}

/// The result of the first steps of a selection.
struct Narrowed {
  Candidates suitable;
  Candidates acceptable;
};

void record_input(const SelectionCriteria& criteria, PickSteps& steps) {
  steps.any_mirror = criteria.need == nullptr;
  steps.window = criteria.window;
  steps.excluded = criteria.excluded;
  steps.avoided = criteria.avoided;
  if (!criteria.avoided.empty() || !criteria.excluded.empty())
    steps.objections(criteria.objections);
}

/// The steps of select() up to the choice. Avoided mirrors count only if no other one is suitable
/// (SS-122).
Narrowed narrow(const SelectionCriteria& criteria, const SetDescription& picture,
                MirrorViews mirrors, const Strategy& strategy, PickSteps* steps) {
  if (steps != nullptr) record_input(criteria, *steps);
  const auto all = Candidates::first(mirrors.size()) - criteria.excluded;
  Narrowed narrowed;
  narrowed.suitable = suitable_among(all, criteria, picture);
  auto& left = narrowed.acceptable = narrowed.suitable;
  if (!criteria.avoided.empty()) {
    const auto fresh = suitable_among(all - criteria.avoided, criteria, picture);
    if (!fresh.empty()) left = fresh;
  }
  const auto fresh = left;
  if (left.empty()) return narrowed;
  if (mirrors.size() == 1 && criteria.selector == nullptr) {  // nothing is left to narrow
    if (steps != nullptr)
      steps->suitable = steps->fresh = steps->accepted = steps->selected = steps->near = left;
    return narrowed;
  }
  left = prefer(left, [&](auto m) { return mirrors[m].weight > 0; });
  const auto accepted = left = strategy.narrow(mirrors, left);
  if (criteria.selector != nullptr) left = left & (*criteria.selector)(picture, left);
  const auto selected = left;
  if (criteria.window) left = prefer_near(picture, left, *criteria.window);
  if (steps != nullptr) {
    steps->suitable = narrowed.suitable;
    steps->fresh = fresh;
    steps->accepted = accepted;
    steps->selected = selected;
    steps->near = left;
  }
  return narrowed;
}

}  // namespace

Candidates acceptable(const SelectionCriteria& criteria, const SetDescription& picture,
                      MirrorViews mirrors, const Strategy& strategy, PickSteps* steps) {
  return narrow(criteria, picture, mirrors, strategy, steps).acceptable;
}

std::optional<Pick> select(const SelectionCriteria& criteria, const SetDescription& picture,
                           MirrorViews mirrors, const Strategy& strategy, RandomSource& random,
                           PickSteps* steps) {
  const auto [suitable, acceptable] = narrow(criteria, picture, mirrors, strategy, steps);
  if (acceptable.empty()) return std::nullopt;
  if (mirrors.size() == 1) {
    if (steps != nullptr) steps->chosen = 0;
    return Pick{0, suitable, acceptable};
  }
  const auto choose = [&, from = acceptable](RandomSource& numbers) {
    return criteria.takes_turn ? strategy.choose(mirrors, from, numbers)
                               : strategy.choose_out_of_turn(mirrors, from, numbers);
  };
  if (steps == nullptr) return Pick{choose(random), suitable, acceptable};
  RecordedRandom recorded(random, steps->draws);
  const auto mirror = choose(recorded);
  steps->chosen = static_cast<std::uint8_t>(mirror);
  return Pick{mirror, suitable, acceptable};
}

}  // namespace karmad
