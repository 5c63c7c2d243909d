#include "balancer/rules/zones.hpp"

#include <algorithm>

namespace karmad {

std::string_view zone_of(const SetDescription& picture, std::size_t mirror) {
  const auto& tags = picture.mirrors[mirror].tags;
  const auto found = std::ranges::find(tags, "zone", &Tag::name);
  return found == tags.end() ? std::string_view() : found->value;
}

Candidates zone_mates(const SetDescription& picture, std::size_t mirror) {
  const auto zone = zone_of(picture, mirror);
  if (zone.empty()) return {};
  return Candidates::first(picture.mirrors.size()).where([&](std::size_t i) {
    return zone_of(picture, i) == zone;
  });
}

Candidates avoided_for(const Need* need, const SetDescription& picture, Candidates all,
                       std::span<const Candidates> reasons) {
  Candidates avoided;
  for (const auto& reason : reasons) {
    if ((reason & all).empty()) continue;
    auto left = all - avoided - reason;
    if (need != nullptr) left = suitable_for(*need, picture, left);
    if (!left.empty()) avoided = avoided | reason;
  }
  return avoided;
}

std::size_t zones(const SetDescription& picture) {
  std::size_t count = 0;
  auto left = Candidates::first(picture.mirrors.size());
  while (!left.empty()) {
    const auto mates = zone_mates(picture, left.nth(0));
    if (!mates.empty()) ++count;
    left = left - mates - Candidates::only(left.nth(0));
  }
  return count;
}

}  // namespace karmad
