#pragma once

#include <span>
#include <string>
#include <string_view>

#include "demo/engine.hpp"

namespace karmad {

/// Whether the path is one that updates are posted to: /insert, /replace, /update, /delete, /bulk,
/// and each under /json.
bool is_update(std::string_view path);

/// Answers an update in the search server's shapes. Nothing is changed by it: the catalogue stays
/// as it was invented, the answer only says how many documents would have been.
HttpAnswer answer_update(const HttpRequest& request, std::span<const std::string> tables);

/// What an agent answers that is not the one to be sent updates.
HttpAnswer not_primary(std::string_view role);

}  // namespace karmad
