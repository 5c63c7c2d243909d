#pragma once

#include <optional>
#include <variant>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "balancer/mysql/messages.hpp"
#include "balancer/mysql/session_state.hpp"

namespace karmad::mysql {

/// The answer to a statement about the connection itself: OK once it was carried out, an error, or
/// rows.
using LocalAnswer = std::variant<sql::SessionStatement, Error, ResultSet>;

/// Answers what clients ask a connection: `SET`, `SELECT @@variables`, `SELECT VERSION()`, `BEGIN`,
/// `USE`, `SHOW DATABASES` … Nothing: the statement is not about the connection; then a SELECT has
/// been read (StatementText::read) if it can be.
std::optional<LocalAnswer> answer_locally(sql::StatementText& statement,
                                          const ConnectionFacts& facts);

}  // namespace karmad::mysql
