#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/rows/row_plan.hpp"
#include "agent/dialect/rows/sort_value.hpp"

namespace karmad {

/// The value of a group or metric in the reply of one shard.
struct Measured {
  std::string_view value;       ///< JSON
  std::uint64_t documents = 1;  ///< behind it
  std::string_view sum{};       ///< Fold::mean: JSON, the sum of the values, if it is known
};

/// The column's type, as far as sums depend on it.
enum class SumOf : std::uint8_t {
  numbers,  ///< as many digits as they need
  whole,    ///< of 64 bits: a sum wraps around
  floats,   ///< of 32 bits: a sum has as many digits
};

/// The value over all shards, JSON; empty: no shard has documents, or it is Fold::keep or distinct,
/// whose value is none of the values alone. `null`: it is beyond the range of numbers. Numbers get
/// as many decimals as in the replies, and sums of integers are exact. Minimum and maximum, also of
/// strings, are copied; of equal ones the first.
///
/// A mean is weighted by the documents. With sums it is exact: a sum counts where it agrees with
/// the mean of the same shard. Else it has wrapped around at 64 bits, or has fewer digits than the
/// mean, as sums of floats have: then the mean times the documents counts.
std::string folded(Fold fold, std::span<const Measured> values, Collation collation,
                   SumOf sum_of = SumOf::numbers);

}  // namespace karmad
