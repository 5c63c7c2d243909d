#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/settings/settings.hpp"
#include "config/text/environment.hpp"

namespace karmad {

/// Either settings, or the problems of the file.
struct Loaded {
  std::optional<Settings> settings;
  Problems problems;
};

/// Checks what only later libraries can judge: strategies, roles, read preferences. Is also called
/// for settings with other problems: unreadable values then have their defaults, and values may be
/// out of bounds.
using Judge = std::function<void(const Settings&, Problems& problems, Problems& notices)>;

/// Reads and checks a configuration with all included files. Finds all problems in one run,
/// including those of `judge`: at most a hundred, each once, in order of files and lines. Never
/// throws for any content. `kind`: of `path`, which may be a pipe at the start; included files must
/// be regular files.
Loaded load(const std::string& path, const Environment& environment = real_environment(),
            FileKind kind = FileKind::any, const Judge& judge = {});

}  // namespace karmad
