#include "balancer/discovery/json_reading.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>

#include <algorithm>

#include "balancer/discovery/found.hpp"

namespace karmad {

std::expected<rapidjson::Document, std::string> parse_source(std::string_view text) {
  if (text.size() > kLongestSource)
    return std::unexpected(fmt::format("it is longer than {} bytes", kLongestSource));
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
      text.data(), text.size());
  if (!document.HasParseError()) return document;
  const auto before = text.substr(0, document.GetErrorOffset());
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto begin = before.rfind('\n');
  const auto column = begin == before.npos ? before.size() + 1 : before.size() - begin;
  return std::unexpected(fmt::format("line {}, column {}: not valid JSON: {}", line, column,
                                     rapidjson::GetParseError_En(document.GetParseError())));
}

const JsonValue* member(const JsonValue& value, const char* name) {
  if (!value.IsObject()) return nullptr;
  const auto found = value.FindMember(name);
  return found == value.MemberEnd() ? nullptr : &found->value;
}

std::string_view text_member(const JsonValue& value, const char* name) {
  const auto* found = member(value, name);
  if (found == nullptr || !found->IsString()) return {};
  return {found->GetString(), found->GetStringLength()};
}

std::string shown(const JsonValue& value) {
  constexpr std::size_t kMost = 60;
  if (value.IsString())
    return fmt::format(
        "'{}'", std::string_view(value.GetString(), value.GetStringLength()).substr(0, kMost));
  if (value.IsInt64()) return fmt::format("{}", value.GetInt64());
  if (value.IsNumber()) return fmt::format("{}", value.GetDouble());
  if (value.IsBool()) return value.GetBool() ? "true" : "false";
  return value.IsNull() ? "null" : value.IsArray() ? "a list" : "an object";
}

}  // namespace karmad
