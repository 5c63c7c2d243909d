#pragma once

#include <string_view>
#include <vector>

#include "config/settings/settings.hpp"
#include "config/text/parse.hpp"

namespace karmad {

/// True for keys that add to a list; of other known keys the first value counts.
bool repeats(SectionKind kind, std::string_view key);

/// The settings of a tree; bounds are not checked yet. Unknown keys, invalid values and settings
/// that must not be ignored are problems; settings that karmad does not use are notices. After a
/// problem the settings contain what was probably meant, so that they can be checked further.
/// `repeated` gets the settings of further sections searchd, which were reported.
Settings read(const Tree& tree, Problems& problems, std::vector<InstanceSettings>& repeated);

}  // namespace karmad
