#include "config/text/paragraphs.hpp"

#include <fmt/format.h>

#include <sstream>

namespace karmad {

Paragraphs read_paragraphs(const char* begin, const char* end) {
  Paragraphs read;
  std::istringstream lines(std::string(begin, end));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (!line.starts_with("  ")) {
      read.push_back({std::move(line), {}});
      continue;
    }
    auto& text = read.back().text;
    text.append(text.empty() ? "" : " ").append(line, 2);
  }
  return read;
}

std::string filled(const char* begin, const char* end,
                   std::initializer_list<std::pair<std::string_view, std::string>> values) {
  std::string text(begin, end);
  for (const auto& [name, value] : values)
    text.replace(text.find(fmt::format("@{}@", name)), name.size() + 2, value);
  return text;
}

}  // namespace karmad
