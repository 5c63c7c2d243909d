#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/source_text.hpp"

namespace karmad {

/// `index` is another word for `table`.
enum class SectionKind : std::uint8_t { searchd, indexer, common, source, table };
std::string_view name_of(SectionKind kind);

/// One `key = value`; the key in lower case.
struct Entry {
  std::string key;
  Place at;
  SourceText value;
};

/// A section; `name` is empty for searchd, indexer and common.
struct Section {
  SectionKind kind{};
  std::string name;
  Place at;
  std::vector<Entry> entries;
};

/// A section as it stands in the file, before its parent's entries are added.
struct WrittenSection {
  Section section;
  std::string parent;
  Place parent_at;
};

struct Include {
  SourceText pattern;
  Place at;
};

using Statement = std::variant<WrittenSection, Include>;

/// What stands in one expanded file, in order. A section with a mistake in its head is left out
/// after the mistake was reported; its body is read all the same, for more problems.
std::vector<Statement> read_sections(const SourceText& file, Problems& problems);

}  // namespace karmad
