#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace karmad {

/// An answer of GET /explain as text for people: each shard, each choice with its mirrors and the
/// rule that removed each, and the attempt. The error says that it is not such an answer.
std::expected<std::string, std::string> explanation_text(std::string_view json);

}  // namespace karmad
