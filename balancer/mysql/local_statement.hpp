#pragma once

#include <optional>
#include <variant>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "balancer/mysql/messages.hpp"
#include "balancer/mysql/variables.hpp"

namespace karmad {

/// The answer to a statement about the connection itself: OK once it was carried out, an error, or
/// rows.
using MysqlLocalAnswer = std::variant<SessionStatement, MysqlError, ResultSet>;

/// Answers what clients ask a connection: `SET`, `SELECT @@variables`, `SELECT VERSION()`, `BEGIN`,
/// `USE`, `SHOW DATABASES` … Nothing: the statement is not about the connection; then a SELECT has
/// been read (StatementText::read) if it can be.
std::optional<MysqlLocalAnswer> answer_locally(StatementText& statement,
                                               const MysqlConnectionFacts& facts);

}  // namespace karmad
