#include "agent/dialect/merge/metrics.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "agent/dialect/rows/sort_value.hpp"

namespace karmad {

namespace {

__extension__ typedef __int128 Wide;  // sums of 64-bit integers of many shards

constexpr std::size_t kMostDecimals = 400;  // most that are shown; few doubles have more

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at;
}

/// Whether it is a number by RFC 8259, section 6, and so may be copied to an answer.
bool is_number(std::string_view text) {
  const std::size_t whole = text.starts_with('-') ? 1 : 0;
  auto at = skip_digits(text, whole);
  if (at == whole || (text[whole] == '0' && at > whole + 1)) return false;
  if (at < text.size() && text[at] == '.') {
    const auto fraction = at + 1;
    at = skip_digits(text, fraction);
    if (at == fraction) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const auto exponent = at;
    at = skip_digits(text, exponent);
    if (at == exponent) return false;
  }
  return at == text.size();
}

std::size_t decimals_of(std::string_view value) {
  const auto point = value.find('.');
  if (point == value.npos) return 0;
  const auto end = value.find_first_not_of("0123456789", point + 1);
  return std::min(std::min(end, value.size()) - point - 1, kMostDecimals);
}

bool has_exponent(std::string_view value) {
  return value.find_first_of("eE") != value.npos;
}

/// A real number in the format of the shards.
std::string written(long double value, std::size_t decimals, bool exponent) {
  // A value beyond the range of double is not a valid number for JSON readers.
  if (!std::isfinite(static_cast<double>(value))) return "null";
  if (exponent) return fmt::format("{}", static_cast<double>(value));
  return fmt::format("{:.{}f}", value, decimals);
}

struct Sum {
  bool exact = true;
  Wide whole = 0;
  long double real = 0;
  std::size_t decimals = 0;
  bool exponent = false;

  void add(std::string_view text) {
    const auto number = json_number(text);
    real += as_real(number);
    decimals = std::max(decimals, decimals_of(text));
    exponent |= has_exponent(text);
    exact &= number.integer;
    if (number.integer)
      whole += number.negative ? -static_cast<Wide>(number.magnitude)
                               : static_cast<Wide>(number.magnitude);
  }
  std::string text() const {
    return exact ? fmt::format("{}", whole) : written(real, decimals, exponent);
  }
};

std::string mean_of(std::span<const Measured> shards) {
  long double sum = 0;
  long double documents = 0;
  std::size_t decimals = 0;
  bool exponent = false;
  for (const auto& shard : shards) {
    if (!is_number(shard.value) || shard.documents == 0) continue;
    const auto weight = static_cast<long double>(shard.documents);
    sum += as_real(json_number(shard.value)) * weight;
    documents += weight;
    decimals = std::max(decimals, decimals_of(shard.value));
    exponent |= has_exponent(shard.value);
  }
  return documents == 0 ? std::string() : written(sum / documents, decimals, exponent);
}

/// The sum of the values behind a shard's mean.
std::optional<long double> sum_behind(const MeasuredMean& shard) {
  const auto& [mean, sum] = shard;
  const auto documents = static_cast<long double>(mean.documents);
  if (documents == 0) return std::nullopt;
  const auto summed =
      is_number(sum) ? std::optional(as_real(json_number(sum))) : std::optional<long double>();
  if (!is_number(mean.value)) return summed;
  const auto product = as_real(json_number(mean.value)) * documents;
  // Half of the mean's last digit, and what doubles lose when they are added.
  const auto rounding =
      documents * 0.5L * std::pow(10.0L, -static_cast<long double>(decimals_of(mean.value))) +
      std::abs(product) * 1e-12L;
  return summed && std::abs(*summed - product) <= rounding ? *summed : product;
}

std::string extreme_of(std::span<const Measured> shards, bool largest) {
  const Measured* best = nullptr;
  for (const auto& shard : shards) {
    if (!is_number(shard.value) || shard.documents == 0) continue;
    if (best == nullptr) {
      best = &shard;
      continue;
    }
    const auto order = compare(json_number(shard.value), json_number(best->value));
    if (largest ? order > 0 : order < 0) best = &shard;
  }
  return best == nullptr ? std::string() : std::string(best->value);
}

std::string sum_of(std::span<const Measured> shards) {
  Sum sum;
  bool any = false;
  for (const auto& shard : shards) {
    if (!is_number(shard.value)) continue;
    sum.add(shard.value);
    any = true;
  }
  return any ? sum.text() : std::string();
}

}  // namespace

std::string exact_mean(std::span<const MeasuredMean> shards) {
  long double sum = 0;
  long double documents = 0;
  bool any = false;
  std::size_t decimals = 0;
  bool exponent = false;
  for (const auto& shard : shards) {
    decimals = std::max(decimals, decimals_of(shard.mean.value));
    exponent |= has_exponent(shard.mean.value);
    documents += static_cast<long double>(shard.mean.documents);
    const auto added = sum_behind(shard);
    any |= added.has_value();
    sum += added.value_or(0);
  }
  if (!any) return {};
  // The server divides doubles: of large numbers it shows their digits.
  return written(static_cast<double>(sum / documents), decimals, exponent);
}

std::string merge_metric(Merging merging, std::span<const Measured> shards) {
  std::string value;
  switch (merging) {
    case Merging::smallest:
    case Merging::largest:
      value = extreme_of(shards, merging == Merging::largest);
      break;
    case Merging::mean:
      value = mean_of(shards);
      break;
    default:
      value = sum_of(shards);
  }
  if (!value.empty()) return value;
  // No shard found documents: copies the value of a shard, if it is valid JSON.
  for (const auto& shard : shards)
    if (!shard.value.empty()) return is_number(shard.value) ? std::string(shard.value) : "null";
  return {};
}

}  // namespace karmad
