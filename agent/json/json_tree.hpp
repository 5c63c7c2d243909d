#pragma once

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cassert>
#include <span>
#include <string>
#include <string_view>

namespace karmad {

// Functions that RapidJSON's tree lacks. The views live as long as the tree.

inline std::string_view text_of(const rapidjson::Value& string) {
  return {string.GetString(), string.GetStringLength()};
}

/// Empty if it is missing or not a string.
inline std::string_view text_of(const rapidjson::Value* value) {
  return value != nullptr && value->IsString() ? text_of(*value) : std::string_view();
}

/// The member of that name; null if it is missing, or if `object` is null or not an object.
inline const rapidjson::Value* member_of(const rapidjson::Value* object, std::string_view name) {
  if (object == nullptr || !object->IsObject()) return nullptr;
  const auto size = static_cast<rapidjson::SizeType>(name.size());
  const auto found = object->FindMember(rapidjson::Value(rapidjson::StringRef(name.data(), size)));
  return found == object->MemberEnd() ? nullptr : &found->value;
}

/// Builds the tree of a text that was found valid before, its nesting depth included.
/// The elements of an array; of another value the value itself.
inline std::span<const rapidjson::Value> each_of(const rapidjson::Value& value) {
  return value.IsArray() ? std::span(value.Begin(), value.Size()) : std::span(&value, 1);
}

inline void parse_part(std::string_view text, rapidjson::Document& part) {
  part.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(text.data(),
                                                                                  text.size());
  assert(!part.HasParseError());
}

/// The value as JSON without white space.
inline std::string json_of(const rapidjson::Value& value) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> writer(text);
  value.Accept(writer);
  return {text.GetString(), text.GetSize()};
}

}  // namespace karmad
