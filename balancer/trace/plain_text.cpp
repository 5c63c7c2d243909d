#include "balancer/trace/plain_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

namespace karmad {

namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// The bytes of the control character that the text begins with: of the first and second set, DEL,
/// and those that change the direction of a text or separate lines; 0: it begins with another one.
std::size_t control_size(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  if (byte(0) < ' ' || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) return 2;
  if (byte(0) == 0xd8 && byte(1) == 0x9c) return 2;  // U+061C
  if (byte(0) != 0xe2) return 0;
  const auto last = byte(2);
  if (byte(1) == 0x80 && (last == 0x8e || last == 0x8f || (last >= 0xa8 && last <= 0xae))) return 3;
  return byte(1) == 0x81 && last >= 0xa6 && last <= 0xa9 ? 3 : 0;  // U+2066 … U+2069
}

}  // namespace

std::string without_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto size = control_size(text);
    out.push_back(size > 0 ? '?' : text.front());
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::size_t width_of(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_continuation));
}

std::string fitted(std::string_view text, std::size_t width, bool to_the_right) {
  const auto wide = width_of(text);
  if (wide <= width) {
    const std::string blanks(width - wide, ' ');
    return to_the_right ? blanks + std::string(text) : std::string(text) + blanks;
  }
  if (width == 0) return {};
  std::string out;
  std::size_t left = width - 1;
  for (const auto c : text) {
    if (!is_continuation(c) && left-- == 0) break;
    out.push_back(c);
  }
  return out + "~";
}

std::string utc_text(WallTime time) {
  const auto ms = std::chrono::time_point_cast<std::chrono::milliseconds>(time);
  const auto s = std::chrono::floor<std::chrono::seconds>(ms);
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(s)),
                     (ms - s).count());
}

}  // namespace karmad
