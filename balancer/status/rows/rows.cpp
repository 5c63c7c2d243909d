#include "balancer/status/rows/rows.hpp"

#include <fmt/format.h>

#include <cmath>

namespace karmad {
namespace {

std::string shown(const Stat& stat, Micros time) {
  const double unit = stat.unit == Unit::seconds ? 1e6 : stat.unit == Unit::milliseconds ? 1e3 : 1;
  const auto value = static_cast<double>(time.count()) / unit;
  if (stat.decimals == 0) return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{:.{}f}", value, stat.decimals);
}

std::string shown(const Stat& stat, double value) {
  return stat.unit == Unit::share ? fmt::format("{:.2f}%", 100 * value) : fmt::format("{}", value);
}

std::string shown(const Stat&, std::uint64_t value) {
  return fmt::format("{}", value);
}
std::string shown(const Stat&, std::int64_t value) {
  return fmt::format("{}", value);
}

}  // namespace

void Rows::count(std::string_view key, std::uint64_t value) const {
  sink_(prefix_ + std::string(key), fmt::format("{}", value), true);
}

void Rows::put(const Stat& stat, const StatValue& value, std::span<const Label> labels) {
  if (stat.row_key() == kHidden) return;
  auto key = prefix_;
  for (const auto& label : labels) key.append(label.value) += '_';
  key += stat.row_key();
  std::visit(
      [&]<class T>(const T& of) {
        if constexpr (std::is_same_v<T, Unlimited>) {
          sink_(std::move(key), "unlimited", false);
        } else if constexpr (std::is_same_v<T, bool>) {
          sink_(std::move(key), of ? "yes" : "no", false);
        } else if constexpr (std::is_same_v<T, double>) {
          sink_(std::move(key), shown(stat, of), stat.unit != Unit::share && std::isfinite(of));
        } else if constexpr (!std::is_same_v<T, std::monostate>) {
          sink_(std::move(key), shown(stat, of), true);
        } else if (stat.zero_if_unmeasured) {
          sink_(std::move(key), shown(stat, Micros{}), true);
        } else {
          sink_(std::move(key), "n/a", false);
        }
      },
      value.get());
}

}  // namespace karmad
