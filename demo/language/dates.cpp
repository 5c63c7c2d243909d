#include "demo/language/dates.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <utility>

#include "demo/data/text.hpp"

namespace karmad::demo {

namespace {

using std::chrono::day;
using std::chrono::days;
using std::chrono::month;
using std::chrono::sys_days;
using std::chrono::year;
using std::chrono::year_month_day;

constexpr std::int64_t kDay = 86'400;

std::int64_t floor_to(std::int64_t value, std::int64_t step) {
  const auto rest = value % step;
  return value - (rest < 0 ? rest + step : rest);
}

sys_days day_of(std::int64_t seconds) {
  return sys_days{days{floor_to(seconds, kDay) / kDay}};
}

std::int64_t seconds_of(sys_days when) {
  return when.time_since_epoch().count() * kDay;
}

constexpr std::array<std::pair<std::string_view, Calendar>, 14> kCalendar{{
    {"minute", Calendar::minute},
    {"1m", Calendar::minute},
    {"hour", Calendar::hour},
    {"1h", Calendar::hour},
    {"day", Calendar::day},
    {"1d", Calendar::day},
    {"week", Calendar::week},
    {"1w", Calendar::week},
    {"month", Calendar::month},
    {"1M", Calendar::month},
    {"quarter", Calendar::quarter},
    {"1q", Calendar::quarter},
    {"year", Calendar::year},
    {"1y", Calendar::year},
}};

}  // namespace

std::string date_text(std::int64_t seconds) {
  const auto date = year_month_day{day_of(seconds)};
  const auto clock = seconds - floor_to(seconds, kDay);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock / 3600, clock / 60 % 60, clock % 60);
}

std::optional<std::int64_t> read_date(std::string_view text) {
  if (text.size() != 10 && text.size() != 19) return std::nullopt;
  const auto y = number_of<int>(text.substr(0, 4));
  const auto m = number_of<int>(text.substr(5, 2));
  const auto d = number_of<int>(text.substr(8, 2));
  if (!y || !m || !d || *m < 1 || *d < 1) return std::nullopt;
  const year_month_day date{year{*y}, month{static_cast<unsigned>(*m)},
                            day{static_cast<unsigned>(*d)}};
  if (!date.ok()) return std::nullopt;
  auto out = seconds_of(sys_days{date});
  if (text.size() == 10) return out;
  const auto hours = number_of<int>(text.substr(11, 2));
  const auto minutes = number_of<int>(text.substr(14, 2));
  const auto seconds = number_of<int>(text.substr(17, 2));
  if (!hours || !minutes || !seconds) return std::nullopt;
  return out + *hours * 3600 + *minutes * 60 + *seconds;
}

Step read_step(std::string_view text) {
  for (const auto& [word, unit] : kCalendar)
    if (word == text) return {unit, 0};
  if (text.size() < 2) return {};
  const auto number = number_of<int>(text.substr(0, text.size() - 1));
  if (!number || *number <= 0) return {};
  switch (text.back()) {
    case 's':
      return {Calendar::none, double(*number)};
    case 'm':
      return {Calendar::none, *number * 60.0};
    case 'h':
      return {Calendar::none, *number * 3600.0};
    case 'd':
      return {Calendar::none, *number * 86'400.0};
    default:
      return {};
  }
}

std::int64_t start_of(Calendar unit, std::int64_t seconds) {
  const auto when = day_of(seconds);
  const auto date = year_month_day{when};
  switch (unit) {
    case Calendar::none:
      return seconds;
    case Calendar::minute:
      return floor_to(seconds, 60);
    case Calendar::hour:
      return floor_to(seconds, 3600);
    case Calendar::day:
      return seconds_of(when);
    case Calendar::week:
      return seconds_of(when - (std::chrono::weekday{when} - std::chrono::Monday));
    case Calendar::month:
      return seconds_of(sys_days{date.year() / date.month() / 1});
    case Calendar::quarter: {
      const auto first = (static_cast<unsigned>(date.month()) - 1) / 3 * 3 + 1;
      return seconds_of(sys_days{date.year() / month{first} / 1});
    }
    case Calendar::year:
      return seconds_of(sys_days{date.year() / 1 / 1});
  }
  return seconds;
}

}  // namespace karmad::demo
