#pragma once

#include <string>

namespace karmad {

/// The reference of all keys as Markdown tables, from the rows the reader uses. It stands in
/// docs/configuration.md between two markers; a test compares the two.
std::string reference();

}  // namespace karmad
