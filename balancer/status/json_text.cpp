#include "balancer/status/json_text.hpp"

#include <rapidjson/encodings.h>
#include <rapidjson/memorystream.h>

#include <cstddef>

namespace karmad {
namespace {

/// The length of the valid UTF-8 character at the front; 0 when there is none.
std::size_t valid_length(std::string_view text) {
  rapidjson::MemoryStream stream(text.data(), text.size());
  unsigned codepoint = 0;
  const bool valid = rapidjson::UTF8<>::Decode(stream, &codepoint);
  return valid ? stream.Tell() : 0;
}

}  // namespace

std::string clean_utf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const auto length = valid_length(text);
    clean += length > 0 ? text.substr(0, length) : std::string_view{"\xEF\xBF\xBD"};
    text.remove_prefix(length > 0 ? length : 1);
  }
  return clean;
}

}  // namespace karmad
