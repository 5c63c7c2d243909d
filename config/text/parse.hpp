#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/text/environment.hpp"
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

using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Converts the text of a file for the parser: removes comments, joins lines that end in `\`,
/// substitutes `${NAME}` and `${NAME:-default}`, and makes `\#`, `\{`, `\}`, `\$` ordinary
/// characters. An unset variable without a default is a problem, and so is a result of more than
/// `at_most` bytes.
SourceText expand(const std::string& file, std::string_view text, const VariableLookup& environment,
                  std::size_t at_most, Problems& problems);

/// Limits for reading a configuration, far above real ones.
inline constexpr std::size_t kLargestConfigFile = 4U << 20;
inline constexpr std::size_t kMostConfigFiles = 1000;
inline constexpr std::size_t kDeepestInclude = 16;
inline constexpr std::size_t kMostConfigEntries = 200'000;

/// The sections of a configuration with all included files; inherited entries come first.
struct Tree {
  std::vector<Section> sections;
  Problems notices;
};

/// Whether a key may be repeated in a section, each time adding to a list.
using Repeats = bool (*)(SectionKind kind, std::string_view key);

/// Reads `path` and all files it includes. A key of a child replaces the parent's value or whole
/// list. If a key that is no list is repeated, the first value is used, with a notice. `kind`: of
/// `path`; included files must be regular.
Tree parse(const std::string& path, FileKind kind, const Environment& environment, Repeats repeats,
           Problems& problems);

}  // namespace karmad
