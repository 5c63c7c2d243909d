#pragma once

#include <string_view>

#include "config/parse.hpp"
#include "config/settings.hpp"

namespace karmad {

/// True for the keys that add to a list; of all others that we know only the first counts.
bool repeats(SectionKind kind, std::string_view key);

/// The settings of a tree, bounds not yet checked. Unknown keys, bad values and what must not be
/// ignored are problems; what does not concern us is listed in the notices.
Settings read(const Tree& tree, Problems& problems);

}  // namespace karmad
