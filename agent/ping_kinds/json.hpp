#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string_view>

#include "agent/json/json_tree.hpp"
#include "strategies/tags.hpp"

namespace karmad {

/// Reads what a mirror answered a ping with; nothing when it is not JSON, not UTF-8 or nested
/// deeper than any engine nests.
std::optional<rapidjson::Document> parse_answer(std::string_view json);

/// The member of that name; nullptr when there is none, when it is null, or `of` is no object.
const rapidjson::Value* member(const rapidjson::Value& of, std::string_view name);

/// The member's text; empty when it is missing or no string.
std::string_view text_member(const rapidjson::Value& of, std::string_view name);

/// Most labels a mirror may have; more are a mistake, and would be walked at every pick.
inline constexpr std::size_t kMaxTags = 64;

/// Adds a label; of two with one name the first stays. False when there are too many.
bool add_tag(Tags& tags, std::string_view name, std::string_view value);

}  // namespace karmad
