#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace karmad {

/// A line, and the text below it.
struct Paragraph {
  std::string head;
  std::string text;
};
using Paragraphs = std::vector<Paragraph>;

/// Reads a text file of the program: lines of text begin with two blanks and are joined with one
/// between them, others are heads. Blank lines and lines with `#` at their beginning are left out.
Paragraphs read_paragraphs(const char* begin, const char* end);

/// A text of the program with values in the places of their names, `@name@`. Each is there once.
std::string filled(const char* begin, const char* end,
                   std::initializer_list<std::pair<std::string_view, std::string>> values);

}  // namespace karmad
