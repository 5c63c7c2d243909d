#pragma once

#include <string>
#include <string_view>

namespace karmad {

/// Text of a manual page: characters with a meaning in roff are escaped, others than ASCII become
/// `\[uXXXX]`, so that the page does not depend on a locale. `code` of Markdown becomes bold. The
/// text must be UTF-8; a byte that is not becomes `?`.
std::string roff(std::string_view markdown);

/// The same for text without Markdown: line breaks stay, for a block without filling.
std::string roff_verbatim(std::string_view text);

/// The reference of all keys as Markdown tables. A test compares it with the part of
/// docs/configuration.md between two markers.
std::string reference();

/// The manual page karmad.conf(5), in roff: the grammar of the file in short, and all keys from the
/// rows that the reader uses. The same program always writes the same bytes.
std::string configuration_manual_page();

}  // namespace karmad
