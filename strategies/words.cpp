#include "strategies/words.hpp"

#include <rapidjson/encodings.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>

namespace karmad {

bool has_control_characters(std::string_view word) {
  return std::ranges::any_of(
      word, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_utf8(std::string_view text) {
  rapidjson::MemoryStream in(text.data(), text.size());
  rapidjson::StringBuffer ignored;
  while (in.Tell() < text.size())
    if (!rapidjson::UTF8<>::Validate(in, ignored)) return false;
  return true;
}

}  // namespace karmad
