#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/environment.hpp"
#include "config/settings.hpp"

namespace karmad {

/// Settings, or what is wrong with the file. Never both.
struct Loaded {
  std::optional<Settings> settings;
  Problems problems;
};

/// Adds what only a room further right can judge: strategies, roles, read preferences. It is asked
/// about settings that have other problems, too: what could not be read has its default, and values
/// may be out of bounds.
using Judge = std::function<void(const Settings&, Problems& problems, Problems& notices)>;

/// Reads and checks a configuration with all it includes. All problems are found in one go, those
/// of `judge` included, up to a hundred, each once, in the order of the files' lines. Never throws
/// for anything a file can contain. `kind`: of `path`, where a pipe will do at the start; whatever
/// it includes is a regular file.
Loaded load(const std::string& path, const Environment& environment = real_environment(),
            FileKind kind = FileKind::any, const Judge& judge = {});

}  // namespace karmad
