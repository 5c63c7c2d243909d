#pragma once

#include <string_view>

namespace karmad::test {

/// Draws a search by `bytes` and compares its answer merged from 2 to 5 shards of the demo's
/// documents with that of one table which has them all; ends the process if they differ in what
/// docs/merging.md does not allow. Keeps the engines between calls.
void run_differential(std::string_view bytes);

}  // namespace karmad::test
