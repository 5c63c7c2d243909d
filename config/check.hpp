#pragma once

#include <cstddef>
#include <string_view>

#include "config/settings/settings.hpp"
#include "config/text/environment.hpp"

namespace karmad {

/// A mirror set is a set of bits in one 64-bit word.
inline constexpr std::size_t kMostMirrors = 64;

/// Reports what types cannot express: bounds, duplicates, settings that require or contradict each
/// other. Settings that are allowed but probably a mistake become notices. Names of strategies and
/// everything that depends on dialects are checked elsewhere (Judge).
/// `host`: this machine, to recognize agents that are karmad itself.
void check(const Settings& settings, const ThisHost& host, Problems& problems, Problems& notices);

/// Whether it is valid in a request line before the `?`: a slash, then visible ASCII.
bool is_path(std::string_view text);

}  // namespace karmad
