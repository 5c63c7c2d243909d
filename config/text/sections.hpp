#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/text/source_text.hpp"

namespace karmad {

/// `index` is a synonym of `table`.
enum class SectionKind : std::uint8_t { searchd, indexer, common, source, table };
std::string_view name_of(SectionKind kind);
/// Whether a section of that kind has a name.
bool is_named(SectionKind kind);

/// One `key = value`; the key in lower case.
struct Entry {
  std::string key;
  Place at;
  SourceText value;
  bool faulty = false;      ///< the `=` is missing, which was reported
  unsigned generation = 0;  ///< 1: it stands in the parent of the section, 2: in that one's, …
};

/// A section; `name` is empty for searchd, indexer and common.
struct Section {
  SectionKind kind{};
  std::string name;
  Place at;
  std::vector<Entry> entries;
  bool repeated = false;  ///< another one of that name precedes it, which was reported
  bool orphan = false;    ///< its parent is unknown, which was reported
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
  bool faulty = false;  ///< the `=` is missing, which was reported
};

using Statement = std::variant<WrittenSection, Include>;

/// The statements of one expanded file, in order. A section with an invalid head is reported; if
/// it is clear what kind of section is meant, it is kept, to find the mistakes in its body.
std::vector<Statement> read_sections(const SourceText& file, Problems& problems);

/// True for a key of the search server's configuration without a meaning here: local tables,
/// storage, logs, threads. Such keys are ignored with a notice, so that its files can be loaded.
bool is_ignored_peer_key(SectionKind kind, std::string_view key);

/// The effect that the operator may expect from such a key of searchd but does not get, and what to
/// do instead, for a warning. Empty: no effect is missed.
std::string_view missed_without(SectionKind kind, std::string_view key);

}  // namespace karmad
