#pragma once

#include <string_view>

namespace karmad {

/// A path of updates of a known engine that `pattern`, a path of `reads` in the mirrors' terms,
/// covers: with `{name}` for a segment that may be any. Empty: there is none.
std::string_view update_path_in(std::string_view pattern);

}  // namespace karmad
