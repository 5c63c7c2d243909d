#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace karmad {

/// What `karmad --version` prints: the version in the first line, then the commit, how the program
/// was built, and the versions of its libraries. `commit` is empty if the sources had none. The
/// same build always gives the same text.
std::string version_text(std::string_view commit);

/// Names of the files that the program writes about itself and a package installs: manual pages
/// and completions.
std::string generated_file_names();

/// The content of one of them, from the command line of `app` and the keys of the configuration;
/// none: the name is unknown.
std::optional<std::string> generated_file(std::string_view name, const CLI::App& app);

}  // namespace karmad
