#include "agent/dialect/replies/infinities.hpp"

#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

/// Whether a word at the beginning of the text that has `size` bytes ends there: `nan2` is none.
bool ends_at(std::string_view text, std::size_t size) {
  return text.size() <= size || std::string_view(",]} \t\r\n").contains(text[size]);
}

/// Bytes of a text, and what takes their place; no bytes: nothing does.
struct ReplacedValue {
  std::size_t size = 0;
  std::string_view by{};
};

ReplacedValue infinity_at(std::string_view text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const auto word = text.substr(sign, 3);
  if ((word != "inf" && word != "nan") || !ends_at(text, sign + 3)) return {};
  return {sign + 3, sign == 1 && word == "inf" ? kMinusInfinity : kInfinity};
}

ReplacedValue mark_at(std::string_view text, bool padded) {
  constexpr std::string_view kNull = "null  ";
  for (const auto mark : {kInfinity, kMinusInfinity})
    if (text.starts_with(mark) && ends_at(text, mark.size()))
      return {mark.size(), kNull.substr(0, padded ? mark.size() : 4)};
  return {};
}

/// The JSON text with values replaced as `replaced_at(rest)` says at the beginning of each value.
template <class ReplacedAt>
std::optional<std::string> with_values_replaced(std::string_view json, ReplacedAt replaced_at) {
  std::vector<Replaced> values;
  bool in_string = false;
  bool begins_value = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++at;
    if (in_string || !std::exchange(begins_value, c == ':' || c == ',' || c == '[' || c == ' '))
      continue;
    const ReplacedValue found = replaced_at(json.substr(at));
    if (found.size == 0) continue;
    values.push_back({json.substr(at, found.size), found.by});
    at += found.size - 1;
  }
  if (values.empty()) return std::nullopt;
  std::string out;
  append_replaced(out, json, values);
  return out;
}

}  // namespace

bool is_infinity(std::string_view value) {
  return value == kInfinity || value == kMinusInfinity;
}

std::optional<std::string> without_infinities(std::string_view body) {
  return with_values_replaced(body, infinity_at);
}

void end_infinities(std::string& out, std::size_t begin, bool padded) {
  const auto replaced_at = [padded](std::string_view text) { return mark_at(text, padded); };
  if (auto ended = with_values_replaced(std::string_view(out).substr(begin), replaced_at))
    out.replace(begin, out.size(), *ended);
}

}  // namespace karmad
