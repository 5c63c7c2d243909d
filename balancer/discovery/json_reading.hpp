#pragma once

#include <rapidjson/document.h>

#include <expected>
#include <string>
#include <string_view>

namespace karmad {

// Reading the JSON of sources, which may hold anything.

using JsonValue = rapidjson::Value;

/// At most kLongestSource bytes; nesting costs no stack. The error names line and column.
std::expected<rapidjson::Document, std::string> parse_source(std::string_view text);

/// The member; nullptr if there is none or the value is no object.
const JsonValue* member(const JsonValue& value, const char* name);
/// The text of a member that is a string; else empty.
std::string_view text_member(const JsonValue& value, const char* name);
/// A value for people, at most 60 characters.
std::string shown(const JsonValue& value);

}  // namespace karmad
