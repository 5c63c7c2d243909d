#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/text/source_text.hpp"

namespace karmad {

using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Converts the text of a file for the parser: removes comments, joins lines that end in `\`,
/// substitutes `${NAME}` and `${NAME:-default}`, and makes `\#`, `\{`, `\}`, `\$` ordinary
/// characters. An unset variable without a default is a problem, and so is a result of more than
/// `at_most` bytes.
SourceText expand(const std::string& file, std::string_view text, const VariableLookup& environment,
                  std::size_t at_most, Problems& problems);

}  // namespace karmad
