#pragma once

#include <cstddef>

namespace karmad::test {

/// How often this thread has asked for memory with `new` so far; two marks tell what was asked for
/// between them. A program that calls it has its operator new replaced (with malloc, so that
/// sanitizers still see every block).
std::size_t allocations();

}  // namespace karmad::test
