#pragma once

#include <string>
#include <string_view>

namespace karmad {

/// The text with every byte that is not part of valid UTF-8 replaced by U+FFFD, so that it can
/// stand in a JSON string: an agent's garbage must not spoil what we say about it.
std::string clean_utf8(std::string_view text);

/// A RapidJSON output stream that appends to a string.
class StringSink {
 public:
  using Ch = char;
  explicit StringSink(std::string& out) : out_(&out) {}
  void Put(char c) { out_->push_back(c); }
  void Flush() {}

 private:
  std::string* out_;
};

}  // namespace karmad
