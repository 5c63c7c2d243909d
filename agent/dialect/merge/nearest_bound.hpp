#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/dialect/rows/sort_value.hpp"

namespace karmad {

/// Most hits or rows that a shard is asked for in order to find the nearest of all shards.
inline constexpr std::size_t kMostNearest = 10'000;

/// Whether servers, whose vectors are floats of 32 bits, read the number as an infinite one, which
/// makes all distances infinite.
inline bool exceeds_float(double number) {
  return std::abs(number) > std::numeric_limits<float>::max();
}
/// Whether one of the numbers, with commas between them, does. What is no number does not.
bool has_exceeding_float(std::string_view numbers);

/// Finds which documents are the nearest of all shards, where the shards sort them otherwise. Of
/// equal distances the lower id is nearer. The values are JSON, and must outlive it.
class NearestBound {
 public:
  void add(std::string_view distance, std::string_view id) {
    found_.push_back({sort_value(distance), sort_value(id)});
  }
  /// Only the `most` nearest of those added are included; copies count once.
  void settle(std::size_t most);
  bool includes(std::string_view distance, std::string_view id) const {
    return !last_ || Near{sort_value(distance), sort_value(id)} <= *last_;
  }

 private:
  struct Near {
    SortValue distance;
    SortValue id;

    std::strong_ordering operator<=>(const Near& other) const {
      const auto order = compare(distance, other.distance, Collation::binary);
      return order != 0 ? order : compare(id, other.id, Collation::binary);
    }
    bool operator==(const Near& other) const { return *this <=> other == 0; }
  };

  std::vector<Near> found_;
  std::optional<Near> last_;  ///< of those included; nothing: all are
};

}  // namespace karmad
