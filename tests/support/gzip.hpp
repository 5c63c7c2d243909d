#pragma once

#include <string>
#include <string_view>

namespace karmad::test {

/// One member of RFC 1952. `level`: 0 (stored) to 9.
std::string gzip(std::string_view plain, int level = 6);

/// What can be read of gzip or zstd (RFC 8878) so far; empty: it is neither.
std::string unpacked(std::string_view packed);

}  // namespace karmad::test
