#pragma once

#include <string>

namespace karmad {

/// The reference of all keys as Markdown tables, from the rows that the reader uses. A test
/// compares it with the part of docs/configuration.md between two markers.
std::string reference();

}  // namespace karmad
