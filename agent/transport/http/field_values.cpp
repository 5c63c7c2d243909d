#include "agent/transport/http/field_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "agent/json/json_cursor.hpp"
#include "agent/transport/http/head_lines.hpp"
#include "config/text/number_in.hpp"

namespace karmad {

using namespace wire;

std::optional<std::chrono::sys_seconds> http_date(std::string_view text) {
  constexpr std::string_view shape = "aaa, 00 aaa 0000 00:00:00 GMT";
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 'a') continue;
    if (shape[i] == '0' ? !in_set(text[i], kDigitByte) : text[i] != shape[i]) return std::nullopt;
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

namespace {

/// Collects the two numbers that matter.
class Utilization {
 public:
  /// False: the value is not a number in the allowed range.
  bool add(std::string_view name, std::string_view value) {
    const bool application = name == "application_utilization";
    if (!application && name != "cpu_utilization") return true;
    const auto number = number_in<double>(value);
    if (!number || !std::isfinite(*number) || *number < 0 || *number > 100) return false;
    (application ? application_ : cpu_) = number;
    return true;
  }
  /// 0 stands for "not measured" in the format's protocol buffers.
  std::optional<double> load() const { return application_.value_or(0) > 0 ? application_ : cpu_; }

 private:
  std::optional<double> application_;
  std::optional<double> cpu_;
};

std::optional<double> load_in_json(std::string_view text) {
  JsonCursor json(text);
  JsonMembers members(json);
  Utilization found;
  while (const auto key = members.next()) {
    const auto value = take_value(json);
    if (!value || !found.add(*key, *value)) return std::nullopt;
  }
  return members.complete() ? found.load() : std::nullopt;
}

std::optional<double> load_in_text(std::string_view text) {
  Utilization found;
  while (!text.empty()) {
    const auto part = take_until(text, ',');
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    if (!found.add(wire::trimmed(part.substr(0, equals)), wire::trimmed(part.substr(equals + 1))))
      return std::nullopt;
  }
  return found.load();
}

}  // namespace

std::optional<double> reported_load(std::string_view field) {
  field = wire::trimmed(field);
  for (const std::string_view format : {"TEXT ", "JSON "})
    if (field.starts_with(format)) field = wire::trimmed(field.substr(format.size()));
  return field.starts_with('{') ? load_in_json(field) : load_in_text(field);
}

namespace {

/// Whether requests could follow in that protocol: HTTP of any version, also inside TLS.
bool carries_requests(std::string_view protocol) {
  constexpr std::array<std::string_view, 6> names{"http", "https", "h2", "h2c", "h3", "tls"};
  const auto name = protocol.substr(0, protocol.find('/'));
  return std::ranges::any_of(names, [&](std::string_view each) { return same_word(name, each); });
}

}  // namespace

std::string_view offered_upgrade(const Head& request) {
  if (request.minor_version == 0 || !connection_names(request, "upgrade")) return {};
  const auto is_offer = [](const Field& field) { return same_word(field.name, "upgrade"); };
  if (std::ranges::count_if(request.all(), is_offer) != 1) return {};
  const auto offered = request.find("Upgrade");
  bool may_pass = true;
  for_each_element(offered, [&](std::string_view each) { may_pass &= !carries_requests(each); });
  return may_pass ? offered : std::string_view();
}

bool accepts_offer(const Head& reply, std::string_view offered) {
  bool any = false;
  bool all_known = true;
  for_each_element(reply.find("Upgrade"), [&](std::string_view chosen) {
    any = true;
    bool known = false;
    for_each_element(offered, [&](std::string_view each) { known |= same_word(each, chosen); });
    all_known &= known;
  });
  return any && all_known;
}

}  // namespace karmad
