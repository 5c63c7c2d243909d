#pragma once

#include <span>
#include <string>
#include <string_view>

#include "demo/engine/engine.hpp"

namespace karmad {

/// Whether the path is one for updates: /insert, /replace, /update, /delete, /bulk, and each below
/// /json.
bool is_update(std::string_view path);

/// Answers an update in the search server's format. The catalogue does not change: the answer only
/// counts the documents that the update would have changed.
HttpAnswer answer_update(const HttpRequest& request, std::span<const std::string> tables);

/// The answer of an agent that does not accept updates.
HttpAnswer not_primary(std::string_view role);

}  // namespace karmad
