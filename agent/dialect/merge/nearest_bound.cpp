#include "agent/dialect/merge/nearest_bound.hpp"

#include <algorithm>
#include <charconv>

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

void NearestBound::settle(std::size_t most) {
  std::ranges::sort(found_);
  const auto copies = std::ranges::unique(found_);
  found_.erase(copies.begin(), copies.end());
  if (found_.size() > most) last_ = found_[most - 1];
}

}  // namespace karmad
