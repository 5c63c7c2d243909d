#pragma once

#include <string>
#include <string_view>

namespace karmad {

/// The byte that an escape at the beginning of `text` stands for (`%2f`); -1: none begins there.
int escaped_byte(std::string_view text);

/// `%41+b` to `A b`. A broken escape stays as it is.
std::string url_decoded(std::string_view text);

/// Appends `text` with everything but letters, digits and `-._~` escaped.
void append_url_encoded(std::string& out, std::string_view text);

}  // namespace karmad
