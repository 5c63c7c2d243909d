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

/// The text of that member; empty if it is missing or not a string.
inline std::string_view text_member(const rapidjson::Value& of, std::string_view name) {
  return text_of(member_of(&of, name));
}

/// The elements of an array; none if it is missing or not an array.
inline std::span<const rapidjson::Value> elements_of(const rapidjson::Value* array) {
  if (array == nullptr || !array->IsArray()) return {};
  return {array->Begin(), array->Size()};
}
inline std::span<const rapidjson::Value> list_member(const rapidjson::Value& of,
                                                     std::string_view name) {
  return elements_of(member_of(&of, name));
}

/// The elements of an array; of another value the value itself.
inline std::span<const rapidjson::Value> each_of(const rapidjson::Value& value) {
  return value.IsArray() ? elements_of(&value) : std::span(&value, 1);
}

/// The tree of a text that may hold anything; null, with an error, if it is not JSON in UTF-8.
/// Nesting costs no stack.
inline rapidjson::Document tree_of(std::string_view text) {
  rapidjson::Document tree;
  tree.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(text.data(),
                                                                                     text.size());
  return tree;
}

/// Builds the tree of a text that was found valid before, its nesting depth included.
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
