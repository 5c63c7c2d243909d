#pragma once

#include <expected>
#include <string>

#include "agent/dialect/request/sql_statement.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "balancer/status/rows/rows.hpp"
#include "balancer/status/snapshot.hpp"

namespace karmad {

/// Answers a statement from the snapshot; docs/status.md describes every key. An unknown name after
/// SHOW AGENT gives a row `status_error`, as in the search server; only DESC of an unknown table is
/// an error.
std::expected<ResultSet, std::string> answer(const StatusStatement& statement,
                                             const Snapshot& snapshot);

/// The rows of SHOW STATUS: the process, then every mirror since the start. Blackholes have none,
/// as their answers are dropped. Keys may repeat, as tables may have any name.
void status_rows(const Snapshot& snapshot, const RowSink& sink);

/// Appends the document of `GET /status`: the rows of SHOW STATUS as one object, with numbers as
/// JSON numbers.
void append_status_json(std::string& out, const Snapshot& snapshot);

}  // namespace karmad
