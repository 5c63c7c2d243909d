#include "demo/data/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace karmad::demo {

namespace {

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

constexpr bool in_word(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::vector<Token> tokens(std::string_view text) {
  std::vector<Token> out;
  for (std::size_t i = 0; i < text.size();) {
    if (!in_word(text[i])) {
      ++i;
      continue;
    }
    const auto begin = i;
    while (i < text.size() && in_word(text[i])) ++i;
    out.push_back({lower_case(text.substr(begin, i - begin)), begin, i});
  }
  return out;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (auto& token : tokens(text)) out.push_back(std::move(token.word));
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

int collate(std::string_view a, std::string_view b) {
  const auto shorter = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < shorter; ++i) {
    const int difference =
        static_cast<unsigned char>(lower(a[i])) - static_cast<unsigned char>(lower(b[i]));
    if (difference != 0) return difference;
  }
  if (a.size() == b.size()) return 0;
  return a.size() < b.size() ? -1 : 1;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto before = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto replaced = before + (a[i - 1] == b[j - 1] ? 0 : 1);
      before = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Upper and lower case beyond ASCII, in the letters of European languages.
std::string folded(std::string_view text, bool upper) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      out += upper && text[i] >= 'a' && text[i] <= 'z' ? static_cast<char>(text[i] - 32)
             : upper                                   ? text[i]
                                                       : lower(text[i]);
      continue;
    }
    if ((first & 0xE0U) != 0xC0U || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    auto point = (first & 0x1FU) << 6U | (static_cast<unsigned char>(text[++i]) & 0x3FU);
    // Latin, Greek and Cyrillic have their capitals at a fixed distance.
    const auto shift = [&](unsigned begin, unsigned end, unsigned by) {
      if (upper && point >= begin + by && point <= end + by)
        point -= by;
      else if (!upper && point >= begin && point <= end)
        point += by;
      else
        return false;
      return true;
    };
    if (point != 0xD7 && point != 0xF7 && !shift(0xC0, 0xDE, 0x20) && !shift(0x391, 0x3A9, 0x20) &&
        !shift(0x410, 0x42F, 0x20))
      shift(0x400, 0x40F, 0x50);
    out += static_cast<char>(0xC0U | point >> 6U);
    out += static_cast<char>(0x80U | (point & 0x3FU));
  }
  return out;
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  auto star = std::string_view::npos;  // place of the last `*`, and the length that it matches
  std::size_t eaten = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      eaten = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++eaten;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

std::string float_text(double number) {
  return fmt::format("{:.{}f}", number, number != 0 && std::abs(number) < 1e-3 ? 8 : 6);
}

std::string url_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
            text.data() + i + 3) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k > bytes.size() ? '=' : kBase64[three >> (18 - 6 * k) & 63];
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const auto letters = text.substr(0, text.find('='));
  if (text.size() - letters.size() > 2) return std::nullopt;
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char letter : letters) {
    const auto value = kBase64.find(letter);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) out += static_cast<char>(bits >> (count -= 8) & 255);
  }
  return out;
}

}  // namespace karmad::demo
