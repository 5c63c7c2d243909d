#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string_view>

#include "agent/json/json_tree.hpp"
#include "strategies/tags.hpp"

namespace karmad {

/// Parses the answer to a ping; nothing if it is not JSON, not UTF-8, or nested deeper than the
/// answers of any engine.
std::optional<rapidjson::Document> parse_answer(std::string_view json);

/// The member of that name; nullptr if it is missing or null, or if `of` is not an object.
const rapidjson::Value* member(const rapidjson::Value& of, std::string_view name);

/// Most tags of a mirror: every pick walks them, and more are a mistake.
inline constexpr std::size_t kMaxTags = 64;

/// Adds a tag; if the name exists, the first one stays. False: too many.
bool add_reported_tag(Tags& tags, std::string_view name, std::string_view value);

}  // namespace karmad
