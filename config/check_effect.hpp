#pragma once

#include "config/settings/settings.hpp"

namespace karmad {

/// Warns of settings that have no effect because of others. Settings that a request may switch on
/// count as in effect.
void check_effect(const Settings& settings, Problems& notices);

}  // namespace karmad
