#pragma once

#include <string_view>

#include "config/settings.hpp"

namespace karmad {

/// Reports what types cannot say: bounds, duplicates, settings that need or contradict each other.
/// What is allowed but hardly meant becomes a notice. Names of strategies, and all that a table's
/// dialect decides, are judged by those who know them.
void check(const Settings& settings, Problems& problems, Problems& notices);

/// Whether it may stand in a request line before the `?`: a slash, then visible ASCII.
bool is_path(std::string_view text);

}  // namespace karmad
