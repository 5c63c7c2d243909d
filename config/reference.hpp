#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace karmad {

/// What the documentation says of one key. Texts are Markdown: only `code` is used.
struct KeyText {
  std::string_view name;
  std::string value;     ///< what may be written
  std::string fallback;  ///< the default; empty: none
  std::string range;     ///< empty: no limits
  std::string_view meaning;
};

/// The keys of `searchd` and of a distributed table, from the rows that the reader uses, in the
/// order of the documentation.
std::vector<KeyText> searchd_key_texts();
std::vector<KeyText> table_key_texts();

/// The reference of all keys as Markdown tables. A test compares it with the part of
/// docs/configuration.md between two markers.
std::string reference();

}  // namespace karmad
