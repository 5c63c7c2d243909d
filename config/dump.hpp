#pragma once

#include <string>

#include "config/settings/settings.hpp"

namespace karmad {

/// The effective settings as a configuration that loads to the same settings; after each value its
/// place, or `default`. Unset keys appear as comments.
std::string dump(const Settings& settings);

}  // namespace karmad
