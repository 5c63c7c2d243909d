#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/dialect/manticore_sql/rows/result_set.hpp"
#include "balancer/mysql/messages.hpp"
#include "balancer/mysql/variables.hpp"

namespace karmad {

/// The answer to a statement about the connection itself.
struct MysqlLocalAnswer {
  struct Ok {};
  struct UseDatabase {
    std::string name;
  };
  std::variant<Ok, UseDatabase, MysqlError, ResultSet> answer;
};

/// Answers what clients ask a connection: `SET NAMES`, `SELECT @@variables`, `SELECT VERSION()`,
/// `USE`, `SHOW DATABASES` … Nothing: the statement is not about the connection.
std::optional<MysqlLocalAnswer> answer_locally(std::string_view statement,
                                               const MysqlConnectionFacts& facts);

/// What a statement is by its first word.
enum class MysqlStatementKind : std::uint8_t {
  empty,  ///< blanks and comments
  select,
  description,  ///< SHOW, DESC, DESCRIBE, EXPLAIN and CALL: changes nothing
  insert,       ///< INSERT and REPLACE
  change,       ///< UPDATE and DELETE
  other
};
MysqlStatementKind kind_of_mysql(std::string_view statement);

}  // namespace karmad
