#include "balancer/simulate/replay/access_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>

#include "agent/json/json_cursor.hpp"

namespace karmad {
namespace {

template <class Number>
bool read_line_number(std::string_view text, Number& number) {
  const auto* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && after == end;
}

bool read_line_text(std::string_view value, std::string_view& text) {
  if (!is_string(value)) return false;
  text = without_quotes(value);
  return true;
}

bool read_line_micros(std::string_view value, Micros& time) {
  std::uint64_t number = 0;
  if (!read_line_number(value, number) || number > std::uint64_t{kLongestLoggedTime.count()})
    return false;
  time = Micros(number);
  return true;
}

/// Reads milliseconds such as `1.234`.
bool read_line_millis(std::string_view value, Micros& time) {
  double number = 0;
  if (!read_line_number(value, number) || !(number >= 0)) return false;
  time = Micros(static_cast<std::int64_t>(std::min(number * 1000, 1e15)));
  return true;
}

/// Reads the digits of `text` between `from` and `from + count`.
std::optional<unsigned> digits_at(std::string_view text, std::size_t from, std::size_t count) {
  unsigned number = 0;
  for (const char c : text.substr(from, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  return number;
}

/// Reads `"2023-11-14T22:13:20.000042Z"`.
bool read_line_date(std::string_view value, Micros& time) {
  constexpr std::string_view kPattern = "\"0000-00-00T00:00:00.000000Z\"";
  if (value.size() != kPattern.size()) return false;
  for (std::size_t i = 0; i < kPattern.size(); ++i)
    if (kPattern[i] != '0' && value[i] != kPattern[i]) return false;
  const auto year = digits_at(value, 1, 4);
  const auto month = digits_at(value, 6, 2);
  const auto day = digits_at(value, 9, 2);
  const auto hour = digits_at(value, 12, 2);
  const auto minute = digits_at(value, 15, 2);
  const auto second = digits_at(value, 18, 2);
  const auto micros = digits_at(value, 21, 6);
  if (!year || !month || !day || !hour || !minute || !second || !micros) return false;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) return false;
  time = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second) + Micros(*micros);
  return true;
}

bool read_line_outcome(std::string_view value, Outcome& outcome) {
  const auto* const row = std::ranges::find_if(kOutcomes, [&](const OutcomeRow& known) {
    return is_string(value) && without_quotes(value) == known.name;
  });
  if (row == kOutcomes.end()) return false;
  outcome = row->outcome;
  return true;
}

bool read_line_sample(std::string_view value, double& sample) {
  return read_line_number(value, sample) && sample >= kSmallestSample && sample <= 1;
}

/// What a line says of an attempt; `end` is missing if it was dropped.
struct LoggedAttempt {
  AccessLineAttempt attempt;
  std::optional<Micros> end;
  bool has_start = false;
  bool has_outcome = false;
};

bool read_attempt_member(JsonCursor& json, std::string_view key, LoggedAttempt& logged) {
  const auto value = take_value(json);
  if (!value) return false;
  auto& attempt = logged.attempt;
  if (key == "shard") return read_line_number(*value, attempt.shard);
  if (key == "mirror") return read_line_text(*value, attempt.mirror);
  if (key == "start_us") return logged.has_start = read_line_micros(*value, attempt.start);
  if (key == "end_us") return read_line_micros(*value, logged.end.emplace());
  if (key == "outcome") return logged.has_outcome = read_line_outcome(*value, attempt.outcome);
  if (key == "status") return read_line_number(*value, attempt.status) && attempt.status < 1000;
  return true;
}

bool read_attempt(JsonCursor& json, AccessLine& line) {
  LoggedAttempt logged;
  JsonMembers members(json);
  while (const auto key =
             members.next(R"("shard":)", R"("mirror":)", R"("reason":)", R"("strategy":)",
                          R"("start_us":)", R"("end_us":)", R"("outcome":)"))
    if (!read_attempt_member(json, *key, logged)) return false;
  auto& attempt = logged.attempt;
  if (!members.complete() || attempt.shard == 0 || attempt.mirror.empty() || !logged.has_start ||
      !logged.has_outcome)
    return false;
  if (!logged.end || *logged.end < attempt.start || attempt.outcome == Outcome::local_error) {
    ++line.unusable;
    return true;
  }
  attempt.took = *logged.end - attempt.start;
  line.attempts.push_back(attempt);
  return true;
}

bool read_attempts(JsonCursor& json, AccessLine& line) {
  JsonElements elements(json);
  while (elements.next())
    if (!read_attempt(json, line)) return false;
  return elements.complete();
}

bool read_line_member(JsonCursor& json, std::string_view key, AccessLine& line) {
  if (key == "attempts") return read_attempts(json, line);
  const auto value = take_value(json);
  if (!value) return false;
  if (key == "time") return read_line_date(*value, line.time);
  if (key == "id") return read_line_number(*value, line.id);
  if (key == "operation") return read_line_text(*value, line.operation);
  if (key == "table") return read_line_text(*value, line.table);
  if (key == "total_ms") return read_line_millis(*value, line.total);
  if (key == "sample") return read_line_sample(*value, line.sample);
  return true;
}

}  // namespace

bool parse_access_line(std::string_view text, AccessLine& line) {
  auto attempts = std::move(line.attempts);  // keeps its memory
  attempts.clear();
  line = {};
  line.attempts = std::move(attempts);
  JsonCursor json(text);
  JsonMembers members(json);
  bool has_time = false;
  bool has_attempts = false;
  while (const auto key = members.next()) {
    if (!read_line_member(json, *key, line)) return false;
    has_time |= *key == "time";
    has_attempts |= *key == "attempts";
  }
  skip_space(json);
  return members.complete() && json.done() && has_time && has_attempts;
}

bool is_update(std::string_view operation) {
  constexpr std::array<std::string_view, 8> kUpdates{"insert", "replace", "update", "delete",
                                                     "bulk",   "PUT",     "DELETE", "PATCH"};
  constexpr std::string_view kFolder = "json/";
  if (operation.starts_with(kFolder)) operation.remove_prefix(kFolder.size());
  return std::ranges::find(kUpdates, operation) != kUpdates.end();
}

}  // namespace karmad
