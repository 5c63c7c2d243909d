#pragma once

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad {

/// The dialect that a table names; null, and a problem, if its name is unknown.
const DialectKind* dialect_of(const TableSettings& table, Dialects known, Problems& problems);

/// Checks the tables' settings `route`, `path`, `reads` and number of shards against their
/// dialects. Unknown names are reported by dialect_of(), not here; such a table must have no route.
void judge_dialects(const Settings& settings, Dialects known, Problems& problems,
                    Problems& notices);

}  // namespace karmad
