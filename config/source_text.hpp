#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/located.hpp"

namespace karmad {

/// Configuration text in which every character knows the place it came from, also when lines were
/// joined, comments dropped and variables substituted on the way.
class SourceText {
 public:
  SourceText() = default;
  explicit SourceText(std::string file) : file_(std::move(file)) {}

  /// Whether a character may be syntax (a brace that opens or closes) or is only itself.
  enum class Role : std::uint8_t { plain, literal };

  /// Appends the character that stands at `line`:`column`.
  void add(char c, unsigned line, unsigned column, Role role = Role::plain);
  /// Appends what stands in place of the text at `line`:`column`; all of it has that place.
  void add_substituted(std::string_view text, unsigned line, unsigned column);

  const std::string& text() const { return text_; }
  std::size_t size() const { return text_.size(); }
  /// Where the character at `offset` came from; one past the end is allowed.
  Place place(std::size_t offset) const;
  /// True for substituted and escaped characters: they never open or close a section.
  bool is_literal(std::size_t offset) const;
  /// The part [begin, end).
  SourceText slice(std::size_t begin, std::size_t end) const;

 private:
  struct Run {
    std::size_t offset;  // of its first character
    unsigned line;
    unsigned column;
    bool advances;  // each character stands one column further
    Role role;
  };
  const Run* run_at(std::size_t offset) const;

  std::string file_;
  std::string text_;
  std::vector<Run> runs_;
};

/// Without blanks at both ends.
SourceText trimmed(const SourceText& source);
std::string_view trimmed(std::string_view text);
std::string lower(std::string_view text);

}  // namespace karmad
