#include "strategies/select.hpp"

#include "strategies/narrow.hpp"

namespace karmad {
namespace {

Candidates suitable_among(Candidates from, const Question& question, const SetPicture& picture) {
  return question.need == nullptr ? from : suitable_for(*question.need, picture, from);
}

/// The tried ones are taken out before everything else, and only if nothing is suitable without
/// them the rules are gone through again with all (SS-122).
Candidates suitable(const Question& question, const SetPicture& picture, std::size_t mirrors) {
  const auto all = Candidates::first(mirrors) - question.excluded;
  const auto fresh = suitable_among(all - question.avoided, question, picture);
  return fresh.empty() ? suitable_among(all, question, picture) : fresh;
}

}  // namespace

Candidates acceptable(const Question& question, const SetPicture& picture, MirrorViews mirrors,
                      const Strategy& strategy) {
  auto left = suitable(question, picture, mirrors.size());
  if (left.empty()) return left;
  left = strategy.narrow(mirrors, left);
  if (question.selector != nullptr) left = left & (*question.selector)(picture, left);
  return question.window ? prefer_near(picture, left, *question.window) : left;
}

std::optional<std::size_t> select(const Question& question, const SetPicture& picture,
                                  MirrorViews mirrors, const Strategy& strategy,
                                  RandomSource& random) {
  const auto accepted = acceptable(question, picture, mirrors, strategy);
  if (accepted.empty()) return std::nullopt;
  return strategy.choose(mirrors, accepted, random);
}

}  // namespace karmad
