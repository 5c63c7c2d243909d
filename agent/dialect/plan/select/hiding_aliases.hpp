#pragma once

#include <optional>
#include <vector>

#include "agent/dialect/plan/select/select_draft.hpp"

namespace karmad {

/// Settles aliases that are the name of a column which another expression reads: there some servers
/// take the column, others the alias.
///
/// An aggregate with such an alias (`AVG(price) AS price`), or with the alias `id`, is sent with a
/// hidden one; its column gets the client's name back, ORDER BY and HAVING by the alias follow.
/// Refuses (400) an alias `id` of another expression, by which rows would be merged, and other
/// aliases that hide what a hidden column reads.
std::optional<ClientError> settle_aliases(SelectDraft& draft);

/// Refuses (400) an alias of another item that is the attribute's name.
std::optional<ClientError> refuse_hiding(const std::vector<SelectItem>& items,
                                         const SelectItem& attribute);

/// Refuses (400) the alias `id` of something else.
std::optional<ClientError> refuse_id_alias(const SelectItem& item);

}  // namespace karmad
