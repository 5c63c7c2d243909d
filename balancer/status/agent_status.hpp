#pragma once

#include <expected>
#include <string>

#include "balancer/status/result_set.hpp"
#include "balancer/status/rows.hpp"
#include "balancer/status/snapshot.hpp"
#include "balancer/status/statements.hpp"

namespace karmad {

/// Answers a statement from what is known at this moment; docs/status.md has every key. An unknown
/// name after SHOW AGENT is answered with a row `status_error`, as the search server does; only
/// DESC of an unknown table is an error.
std::expected<ResultSet, std::string> answer(const StatusStatement& statement,
                                             const Snapshot& snapshot);

/// The rows of SHOW STATUS: the process, then every mirror since the start. Black holes have none:
/// their answers are dropped. A key may come twice, as tables may have any name.
void status_rows(const Snapshot& snapshot, const RowSink& sink);

}  // namespace karmad
