#pragma once

#include <cstddef>

#include "config/settings/settings.hpp"
#include "config/text/environment.hpp"

namespace karmad {

/// A mirror set is a set of bits in one 64-bit word.
inline constexpr std::size_t kMostMirrors = 64;

/// The part of check() for distributed tables and their agent lines.
void check_tables(const Settings& settings, const ThisHost& host, Problems& problems,
                  Problems& notices);

}  // namespace karmad
