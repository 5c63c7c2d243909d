#include "config/text/roff.hpp"

#include <fmt/format.h>

namespace karmad {

namespace {

/// The character that starts at `at`, which is moved behind it; `?` if it is not UTF-8.
char32_t next_character(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const unsigned more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  if (more == 0) return U'?';
  char32_t character = first & (0x3FU >> more);
  for (unsigned i = 0; i < more; ++i) {
    if (at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80) return U'?';
    character = character << 6U | (static_cast<unsigned char>(text[at++]) & 0x3FU);
  }
  return character;
}

std::string roff_of(std::string_view text, bool markdown) {
  std::string out;
  bool bold = false;
  for (std::size_t at = 0; at < text.size();) {
    const bool starts_line = at == 0 || text[at - 1] == '\n';
    const auto character = next_character(text, at);
    if (character == U'`' && markdown) {
      bold = !bold;
      out += bold ? "\\fB" : "\\fR";
    } else if (character == U'\\') {
      out += "\\e";
    } else if (character == U'-') {
      out += "\\-";
    } else if (character == U'\'') {
      out += "\\(aq";
    } else if (character == U'.' && starts_line) {
      out += "\\&.";
    } else if (character < 0x80) {
      out += static_cast<char>(character);
    } else {
      out += fmt::format("\\[u{:04X}]", static_cast<std::uint32_t>(character));
    }
  }
  return out;
}

}  // namespace

std::string roff(std::string_view markdown) {
  return roff_of(markdown, true);
}

std::string roff_verbatim(std::string_view text) {
  return roff_of(text, false);
}

}  // namespace karmad
