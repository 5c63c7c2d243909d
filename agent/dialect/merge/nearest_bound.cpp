#include "agent/dialect/merge/nearest_bound.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

namespace karmad {

bool has_exceeding_float(std::string_view numbers) {
  while (!numbers.empty()) {
    auto number = numbers.substr(0, numbers.find(','));
    numbers.remove_prefix(std::min(number.size() + 1, numbers.size()));
    number.remove_prefix(std::min(number.find_first_not_of(" \t\r\n"), number.size()));
    double value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool too_large = read.ec == std::errc::result_out_of_range &&
                           number.find("e-") == number.npos && number.find("E-") == number.npos;
    if (too_large || exceeds_float(value)) return true;
  }
  return false;
}

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
