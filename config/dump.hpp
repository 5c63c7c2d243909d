#pragma once

#include <string>

#include "config/settings.hpp"

namespace karmad {

/// The effective settings as a configuration that loads as the same ones; behind each value the
/// place it came from, or `default`. What is unset stands in a comment.
std::string dump(const Settings& settings);

}  // namespace karmad
