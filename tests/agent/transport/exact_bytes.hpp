#pragma once

#include <string_view>
#include <vector>

namespace karmad {

/// A copy on the heap with nothing after its last byte, so that AddressSanitizer sees an overread.
class ExactBytes {
 public:
  explicit ExactBytes(std::string_view bytes) : bytes_(bytes.begin(), bytes.end()) {}
  operator std::string_view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::vector<char> bytes_;
};

}  // namespace karmad
