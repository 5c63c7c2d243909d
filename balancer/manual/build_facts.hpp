#pragma once

#include <string>
#include <string_view>

namespace karmad {

/// What `karmad --version` prints: the version in the first line, then the commit, how the program
/// was built, and the versions of its libraries. `commit` is empty if the sources had none. The
/// same build always gives the same text.
std::string version_text(std::string_view commit);

}  // namespace karmad
