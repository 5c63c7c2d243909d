#include "agent/transport/http/http_date.hpp"

#include <charconv>

#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

std::optional<std::chrono::sys_seconds> http_date(std::string_view text) {
  constexpr std::string_view shape = "aaa, 00 aaa 0000 00:00:00 GMT";
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 'a') continue;
    if (shape[i] == '0' ? !wire::in_set(text[i], wire::kDigitByte) : text[i] != shape[i])
      return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t size) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + size, value);
    return value;
  };
  const auto month = months.find(text.substr(8, 3));
  if (month == months.npos || month % 3 != 0) return std::nullopt;
  const std::chrono::year_month_day day{std::chrono::year(number(12, 4)),
                                        std::chrono::month(static_cast<unsigned>(month / 3 + 1)),
                                        std::chrono::day(static_cast<unsigned>(number(5, 2)))};
  const int hour = number(17, 2);
  const int minute = number(20, 2);
  const int second = number(23, 2);  // 60: a leap second
  if (!day.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return std::chrono::sys_days(day) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

}  // namespace karmad
