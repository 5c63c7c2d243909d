#include "balancer/client/plain_text.hpp"

#include <algorithm>

namespace karmad {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

}  // namespace

std::string without_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_second_set =  // U+0080 … U+009F
        c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (is_second_set) ++i;
    out.push_back(c < ' ' || c == 0x7f || is_second_set ? '?' : text[i]);
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

}  // namespace karmad
