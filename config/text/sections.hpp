#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/text/source_text.hpp"

namespace karmad {

/// `index` is a synonym of `table`.
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

/// A section as written in the file, without its parent's entries.
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

/// The statements of one expanded file, in order. A section with an invalid head is reported and
/// left out; its body is still checked.
std::vector<Statement> read_sections(const SourceText& file, Problems& problems);

}  // namespace karmad
