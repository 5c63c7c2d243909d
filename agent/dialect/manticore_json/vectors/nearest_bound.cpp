#include "agent/dialect/manticore_json/vectors/nearest_bound.hpp"

#include <algorithm>
#include <functional>

namespace karmad {

bool NearestBound::Near::operator<(const Near& other) const {
  const auto order = compare(distance, other.distance, Collation::binary);
  return order != 0 ? order < 0 : compare(id, other.id, Collation::binary) < 0;
}

void NearestBound::settle(std::size_t most) {
  std::ranges::sort(found_, std::less<>());
  const auto same = [](const Near& a, const Near& b) { return !(a < b); };
  found_.erase(std::unique(found_.begin(), found_.end(), same), found_.end());
  if (found_.size() > most) last_ = found_[most - 1];
}

bool NearestBound::includes(std::string_view distance, std::string_view id) const {
  return !last_ || !(*last_ < Near{sort_value(distance), sort_value(id)});
}

}  // namespace karmad
