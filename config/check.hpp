#pragma once

#include "config/settings.hpp"

namespace karmad {

/// Reports what types cannot say: bounds, duplicates, settings that need or contradict each other.
/// What is allowed but hardly meant becomes a notice. Names of strategies and dialects are judged
/// by those who know them.
void check(const Settings& settings, Problems& problems, Problems& notices);

}  // namespace karmad
