#include "strategies/select.hpp"

#include "strategies/narrow.hpp"

namespace karmad {
namespace {

Candidates suitable_among(Candidates from, const SelectionCriteria& criteria,
                          const SetPicture& picture) {
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

/// Tried mirrors are excluded first. Only if no other mirror is suitable, the steps run again with
/// all mirrors (SS-122).
Narrowed narrow(const SelectionCriteria& criteria, const SetPicture& picture, MirrorViews mirrors,
                const Strategy& strategy, PickSteps* steps) {
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

std::optional<std::size_t> drawn_by_share(const Strategy& strategy, MirrorViews mirrors,
                                          Candidates from, RandomSource& random) {
  const auto shares = strategy.shares(mirrors, from);
  auto drawn = random.uniform();
  std::optional<std::size_t> chosen;
  for (const auto mirror : from) {
    if (chosen && drawn < 0) break;
    if (shares[mirror] <= 0) continue;
    chosen = mirror;
    drawn -= shares[mirror];
  }
  return chosen;
}

/// Calls `choose` with the source of random numbers, and records its draws and result.
template <class Choose>
std::optional<std::size_t> chosen(RandomSource& random, PickSteps* steps, Choose choose) {
  if (steps == nullptr) return choose(random);
  RecordedRandom recorded(random, steps->draws);
  const std::optional<std::size_t> mirror = choose(recorded);
  if (mirror) steps->chosen = static_cast<std::uint8_t>(*mirror);
  return mirror;
}

}  // namespace

Candidates acceptable(const SelectionCriteria& criteria, const SetPicture& picture,
                      MirrorViews mirrors, const Strategy& strategy, PickSteps* steps) {
  return narrow(criteria, picture, mirrors, strategy, steps).acceptable;
}

std::optional<Pick> select(const SelectionCriteria& criteria, const SetPicture& picture,
                           MirrorViews mirrors, const Strategy& strategy, RandomSource& random,
                           PickSteps* steps) {
  const auto [suitable, acceptable] = narrow(criteria, picture, mirrors, strategy, steps);
  if (acceptable.empty()) return std::nullopt;
  const auto mirror = chosen(random, steps, [&, from = acceptable](RandomSource& numbers) {
    return std::optional(strategy.choose(mirrors, from, numbers));
  });
  return Pick{*mirror, suitable, acceptable};
}

std::optional<Pick> select_by_share(const SelectionCriteria& criteria, const SetPicture& picture,
                                    MirrorViews mirrors, const Strategy& strategy,
                                    RandomSource& random, PickSteps* steps) {
  const auto [suitable, acceptable] = narrow(criteria, picture, mirrors, strategy, steps);
  if (acceptable.empty()) return std::nullopt;
  if (steps != nullptr) steps->by_share = true;
  const auto mirror = chosen(random, steps, [&, from = acceptable](RandomSource& numbers) {
    return drawn_by_share(strategy, mirrors, from, numbers);
  });
  if (!mirror) return std::nullopt;
  return Pick{*mirror, suitable, acceptable};
}

}  // namespace karmad
