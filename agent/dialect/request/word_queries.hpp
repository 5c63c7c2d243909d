#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace karmad {

/// Whether a query of that name searches words in a field. Where the name of the field is that of
/// an attribute, the server takes it for equality, but only at its own `_search`.
bool is_word_query(std::string_view name);

/// The body of a search with equality in place of the words that are searched in a field, where the
/// error of a shard says that there is no such field: an attribute may have that name, as only
/// servers know. All else keeps its place. Nothing: the error is about something else.
std::optional<std::string> with_equality(std::string_view body, std::string_view error);

}  // namespace karmad
