#include "agent/json/drawn_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

using Cells = std::vector<std::string>;

/// Width in characters, not bytes, as on a terminal.
std::size_t shown_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

Cells printable_cells(const Cells& cells) {
  Cells result;
  for (const auto& cell : cells) result.push_back(printable_line(cell));
  return result;
}

void append_line(std::string& out, const Cells& cells, const std::vector<std::size_t>& widths) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += "| ";
    out += cells[i];
    out.append(widths[i] - shown_width(cells[i]) + 1, ' ');
  }
  out += "|\n";
}

void append_border(std::string& out, const std::vector<std::size_t>& widths) {
  for (const auto width : widths) {
    out += '+';
    out.append(width + 2, '-');
  }
  out += "+\n";
}

}  // namespace

std::string printable_line(std::string_view text) {
  auto clean = clean_utf8(text);
  std::ranges::replace_if(
      clean, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, ' ');
  return clean;
}

void append_drawn_table(std::string& out, std::span<const std::vector<std::string>> lines) {
  if (lines.size() < 2) {
    out += "Empty set\n";
    return;
  }
  std::vector<Cells> drawn;
  for (const auto& line : lines) drawn.push_back(printable_cells(line));
  std::vector<std::size_t> widths(drawn.front().size());
  for (const auto& line : drawn)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], shown_width(line[i]));
  append_border(out, widths);
  append_line(out, drawn.front(), widths);
  append_border(out, widths);
  for (std::size_t i = 1; i < drawn.size(); ++i) append_line(out, drawn[i], widths);
  append_border(out, widths);
  const auto rows = drawn.size() - 1;
  fmt::format_to(std::back_inserter(out), "{} {} in set\n", rows, rows == 1 ? "row" : "rows");
}

}  // namespace karmad
