#pragma once

#include <span>
#include <string>
#include <string_view>

#include "demo/engine/engine.hpp"

namespace karmad {

/// Whether the path is one for updates: /insert, /replace, /update, /delete, /bulk, and each below
/// /json.
bool is_update(std::string_view path);

/// Makes an update and answers in the search server's format. `index` null: nothing changes, and
/// the answer is that of an update which changed one document. The caller locks the index.
HttpAnswer answer_update(const HttpRequest& request, std::span<const std::string> tables,
                         Index* index);

/// The answer of an agent that does not accept updates.
HttpAnswer not_primary(std::string_view role);

}  // namespace karmad
