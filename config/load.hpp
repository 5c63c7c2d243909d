#pragma once

#include <optional>
#include <string>

#include "config/settings.hpp"
#include "config/surroundings.hpp"

namespace karmad {

/// Settings, or what is wrong with the file. Never both.
struct Loaded {
  std::optional<Settings> settings;
  Problems problems;
};

/// Reads and checks a configuration with all it includes. All problems are found in one go, up to
/// a hundred, in the order of the files' lines. Never throws for anything a file can contain.
/// `kind`: of `path`, where a pipe will do at the start; whatever it includes is a regular file.
Loaded load(const std::string& path, const Surroundings& surroundings = real_surroundings(),
            FileKind kind = FileKind::any);

}  // namespace karmad
