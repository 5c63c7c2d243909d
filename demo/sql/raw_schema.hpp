#pragma once

#include <span>
#include <vector>

#include "demo/sql/run.hpp"

namespace karmad {

/// The columns that a search server lists in the result sets of a SELECT that finds no document:
/// those that it sorts and groups by, before it has given them the names and the order of the
/// answer. `select`: the statement or one of its facets, of which the set is; `main` and `facets`:
/// the whole statement.
std::vector<ResultColumn> raw_schema(const Select& select, const Select& main,
                                     std::span<const Select> facets);

}  // namespace karmad
