#include "agent/transport/http/load_report.hpp"

#include <cmath>

#include "agent/json/json_cursor.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
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

}  // namespace karmad
