#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/session_statement.hpp"

namespace karmad {

/// Reads SHOW META, SHOW WARNINGS, SHOW PLAN and SHOW PROFILE; SET of what has no effect on answers
/// (names, character sets, autocommit = 1, profiling, timeouts …), also of several at once; COMMIT,
/// ROLLBACK and USE, because each statement takes effect at once. Refuses SET of anything else, and
/// the begin of a transaction. Nothing: the statement is none of these.
std::optional<SessionStatement> read_session_statement(std::string_view statement);

/// `SET profiling=1; select; what`.
std::string write_inspection(std::string_view select, std::string_view what);

}  // namespace karmad
