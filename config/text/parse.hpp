#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/environment.hpp"
#include "config/text/sections.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

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
