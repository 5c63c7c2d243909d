#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/source_text.hpp"

namespace karmad {

using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// The text of one file as its grammar sees it: comments gone, lines that end in `\` joined,
/// `${NAME}` and `${NAME:-default}` substituted, and `\#`, `\{`, `\}`, `\$` made ordinary
/// characters. A variable that is unset and has no default is a problem. The result never grows
/// beyond `at_most` bytes; that is a problem too.
SourceText expand(const std::string& file, std::string_view text, const VariableLookup& environment,
                  std::size_t at_most, Problems& problems);

}  // namespace karmad
