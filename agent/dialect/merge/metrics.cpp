#include "agent/dialect/merge/metrics.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <optional>

#include "agent/json/json_cursor.hpp"

namespace karmad {

namespace {

__extension__ typedef __int128 Wide;  // sums of 64-bit integers of many shards

constexpr std::size_t kMostDecimals = 400;  // most that are shown; few doubles have more

std::size_t decimals_of(std::string_view value) {
  const auto point = value.find('.');
  if (point == value.npos) return 0;
  const auto end = value.find_first_not_of("0123456789", point + 1);
  return std::min(std::min(end, value.size()) - point - 1, kMostDecimals);
}

/// The format of the shards for real numbers.
struct RealFormat {
  std::size_t decimals = 0;
  bool exponent = false;

  void see(std::string_view number) {
    decimals = std::max(decimals, decimals_of(number));
    exponent |= number.find_first_of("eE") != number.npos;
  }
  std::string text(long double value) const {
    // A value beyond the range of double is not a valid number for JSON readers.
    if (!std::isfinite(static_cast<double>(value))) return "null";
    if (exponent) return fmt::format("{}", static_cast<double>(value));
    return fmt::format("{:.{}f}", value, decimals);
  }
};

std::string sum_over(std::span<const Measured> shards, SumOf of) {
  RealFormat format;
  bool any = false;
  bool exact = true;
  Wide whole = 0;
  long double real = 0;
  for (const auto& shard : shards) {
    if (!is_json_number(shard.value)) continue;
    const auto number = json_number(shard.value);
    any = true;
    format.see(shard.value);
    real += as_real(number);
    exact &= number.integer;
    const auto magnitude = static_cast<Wide>(number.magnitude);
    if (number.integer) whole += number.negative ? -magnitude : magnitude;
  }
  if (!any) return {};
  if (exact && of == SumOf::whole) return fmt::to_string(static_cast<std::int64_t>(whole));
  if (exact) return fmt::format("{}", whole);
  return format.text(of == SumOf::floats ? static_cast<float>(real) : real);
}

/// The sum of the values behind a shard's mean.
std::optional<long double> sum_behind(const Measured& mean) {
  const auto documents = static_cast<long double>(mean.documents);
  if (documents == 0) return std::nullopt;
  const auto summed = is_json_number(mean.sum) ? std::optional(as_real(json_number(mean.sum)))
                                               : std::optional<long double>();
  if (!is_json_number(mean.value)) return summed;
  const auto product = as_real(json_number(mean.value)) * documents;
  // Half of the mean's last digit, and what doubles lose when they are added.
  const auto rounding =
      documents * 0.5L * std::pow(10.0L, -static_cast<long double>(decimals_of(mean.value))) +
      std::abs(product) * 1e-12L;
  return summed && std::abs(*summed - product) <= rounding ? *summed : product;
}

std::string mean_of(std::span<const Measured> shards) {
  RealFormat format;
  bool any = false;
  bool with_sums = false;
  long double sum = 0;
  long double documents = 0;
  for (const auto& shard : shards) {
    const auto added = sum_behind(shard);
    if (!added && shard.sum.empty()) continue;
    format.see(shard.value);
    with_sums |= !shard.sum.empty();
    documents += static_cast<long double>(shard.documents);
    any |= added.has_value();
    sum += added.value_or(0);
  }
  if (!any) return {};
  // The server divides doubles: of large numbers it shows their digits.
  const auto mean = sum / documents;
  return format.text(with_sums ? static_cast<double>(mean) : mean);
}

std::string extreme_of(std::span<const Measured> shards, bool largest, Collation collation) {
  std::string_view best;
  SortValue best_value;
  for (const auto& shard : shards) {
    if (shard.documents == 0) continue;
    const auto value = sort_value(shard.value);
    if (value.kind == SortValue::Kind::missing) continue;
    const auto order = compare(value, best_value, collation);
    if (!best.empty() && (largest ? order <= 0 : order >= 0)) continue;
    best = shard.value;
    best_value = value;
  }
  return std::string(best);
}

/// The strings joined by commas, without empty ones.
std::string joined_texts(std::span<const Measured> shards) {
  std::string text = "\"";
  for (const auto& shard : shards) {
    if (!is_string(shard.value) || shard.value.size() == 2) continue;
    if (text.size() > 1) text += ',';
    text += without_quotes(shard.value);
  }
  return text + '"';
}

}  // namespace

std::string folded(Fold fold, std::span<const Measured> values, Collation collation, SumOf sum_of) {
  switch (fold) {
    case Fold::sum:
      return sum_over(values, sum_of);
    case Fold::smallest:
    case Fold::largest:
      return extreme_of(values, fold == Fold::largest, collation);
    case Fold::mean:
      return mean_of(values);
    case Fold::concat:
      return joined_texts(values);
    case Fold::keep:
    case Fold::distinct:
      break;
  }
  return {};
}

}  // namespace karmad
