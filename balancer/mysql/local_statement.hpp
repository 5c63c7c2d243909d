#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "balancer/mysql/messages.hpp"
#include "balancer/mysql/variables.hpp"

namespace karmad {

/// The answer to a statement about the connection itself.
struct MysqlLocalAnswer {
  struct Ok {};
  struct UseDatabase {
    std::string name;
  };
  /// Ok, an error, or result sets as of `/sql?mode=raw`.
  std::variant<Ok, UseDatabase, MysqlError, std::string> answer;
};

/// Answers what clients ask a connection: `SET NAMES`, `SELECT @@variables`, `SELECT VERSION()`,
/// `USE`, `SHOW DATABASES` … Nothing: the statement is not about the connection.
std::optional<MysqlLocalAnswer> answer_locally(std::string_view statement,
                                               const MysqlConnectionFacts& facts);

/// Whether a listener with `_readonly` accepts the statement: it begins with a word that changes
/// nothing.
bool only_reads(std::string_view statement);

/// Whether the statement is an INSERT or REPLACE.
bool makes_documents(std::string_view statement);

}  // namespace karmad
