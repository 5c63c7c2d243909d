#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/environment.hpp"
#include "config/sections.hpp"

namespace karmad {

/// Bounds on what a configuration may make us read. Far above any real one.
inline constexpr std::size_t kLargestConfigFile = 4U << 20;
inline constexpr std::size_t kMostConfigFiles = 1000;
inline constexpr std::size_t kDeepestInclude = 16;
inline constexpr std::size_t kMostEntries = 200'000;

/// The sections of a configuration and of all it includes, each with its inherited entries first.
struct Tree {
  std::vector<Section> sections;
  Problems notices;
};

/// True for a key that may stand several times in a section; each one adds to a list.
using Repeats = bool (*)(SectionKind kind, std::string_view key);

/// Reads `path` and what it includes. A key set by a child drops the parent's value, or its whole
/// list; of a repeated key that is no list the first stays, with a notice.
/// `kind`: of `path`; what is included has to be a regular file.
Tree parse(const std::string& path, FileKind kind, const Environment& environment, Repeats repeats,
           Problems& problems);

}  // namespace karmad
