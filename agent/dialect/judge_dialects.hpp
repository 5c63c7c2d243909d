#pragma once

#include "agent/dialect/dialect_kind.hpp"

namespace karmad {

/// The dialect that a table names; null, and a problem, when there is none of that name.
const DialectKind* dialect_of(const TableSettings& table, Dialects known, Problems& problems);

/// What of the tables' settings does not go with their dialects: `route`, `path`, `reads` and the
/// number of shards. A name that is unknown is dialect_of()'s to tell; its table has no route.
void judge_dialects(const Settings& settings, Dialects known, Problems& problems,
                    Problems& notices);

}  // namespace karmad
