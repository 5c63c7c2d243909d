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

/// Tried mirrors are excluded first. Only if no other mirror is suitable, the steps run again with
/// all mirrors (SS-122).
Narrowed narrow(const SelectionCriteria& criteria, const SetPicture& picture, MirrorViews mirrors,
                const Strategy& strategy) {
  const auto all = Candidates::first(mirrors.size()) - criteria.excluded;
  Narrowed narrowed;
  narrowed.suitable = suitable_among(all, criteria, picture);
  auto& left = narrowed.acceptable = narrowed.suitable;
  if (!criteria.avoided.empty()) {
    const auto fresh = suitable_among(all - criteria.avoided, criteria, picture);
    if (!fresh.empty()) left = fresh;
  }
  if (left.empty()) return narrowed;
  left = strategy.narrow(mirrors, left);
  if (criteria.selector != nullptr) left = left & (*criteria.selector)(picture, left);
  if (criteria.window) left = prefer_near(picture, left, *criteria.window);
  return narrowed;
}

}  // namespace

Candidates acceptable(const SelectionCriteria& criteria, const SetPicture& picture,
                      MirrorViews mirrors, const Strategy& strategy) {
  return narrow(criteria, picture, mirrors, strategy).acceptable;
}

std::optional<Pick> select(const SelectionCriteria& criteria, const SetPicture& picture,
                           MirrorViews mirrors, const Strategy& strategy, RandomSource& random) {
  const auto [suitable, acceptable] = narrow(criteria, picture, mirrors, strategy);
  if (acceptable.empty()) return std::nullopt;
  return Pick{strategy.choose(mirrors, acceptable, random), suitable, acceptable};
}

std::optional<Pick> select_by_share(const SelectionCriteria& criteria, const SetPicture& picture,
                                    MirrorViews mirrors, const Strategy& strategy,
                                    RandomSource& random) {
  const auto [suitable, acceptable] = narrow(criteria, picture, mirrors, strategy);
  if (acceptable.empty()) return std::nullopt;
  const auto shares = strategy.shares(mirrors, acceptable);
  auto drawn = random.uniform();
  std::optional<std::size_t> chosen;
  for (const auto mirror : acceptable) {
    if (chosen && drawn < 0) break;
    if (shares[mirror] <= 0) continue;
    chosen = mirror;
    drawn -= shares[mirror];
  }
  if (!chosen) return std::nullopt;
  return Pick{*chosen, suitable, acceptable};
}

}  // namespace karmad
