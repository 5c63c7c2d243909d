#pragma once

#include <string>

namespace karmad {

/// The manual page karmad.conf(5), in roff: the grammar of the file in short, and all keys from the
/// rows that the reader uses. The same program always writes the same bytes.
std::string configuration_manual_page();

}  // namespace karmad
