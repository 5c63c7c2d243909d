#include "balancer/simulate/html_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kNarrowSpace = "\xE2\x80\xAF";

std::string_view html_of(char c, std::string_view as_it_is) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\t':
    case '\n':
      return " ";
    default:
      return static_cast<unsigned char>(c) < ' ' || c == 0x7f ? kReplacement : as_it_is;
  }
}

}  // namespace

std::string html_escaped(std::string_view text) {
  const auto clean = clean_utf8(text);
  std::string out;
  out.reserve(clean.size());
  for (const char& c : clean) out += html_of(c, {&c, 1});
  return out;
}

std::string count_text(std::uint64_t count) {
  const auto digits = fmt::format("{}", count);
  std::string out;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) out += kNarrowSpace;
    out += digits[at];
  }
  return out;
}

std::string short_number(double value) {
  const auto size = std::abs(value);
  if (size == 0) return "0";
  if (size < 0.9995) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

std::string round_number(double value) {
  const bool large = std::abs(value) >= 9999.5;
  return large ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string duration_text(Micros time) {
  const auto us = static_cast<double>(time.count());
  if (us < 1000) return fmt::format("{} us", time.count());
  if (us < 999'500) return short_number(us / 1e3) + " ms";
  return short_number(us / 1e6) + " s";
}

}  // namespace karmad
