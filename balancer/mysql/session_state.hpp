#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "agent/dialect/request/sql_statement.hpp"
#include "balancer/mysql/messages.hpp"
#include "balancer/mysql/variables.hpp"

namespace karmad {

/// What a client has made of its connection: its database, variables and transaction, and what its
/// last statement left. Each statement takes effect at once, also within a transaction, as in a
/// server with tables that cannot roll back. Pure.
class MysqlSessionState {
 public:
  static constexpr std::size_t kLongestName = 128;  ///< of a database

  std::string database;
  MysqlVariables variables;
  std::optional<MysqlWarning> warning;  ///< of the last statement
  std::uint64_t last_insert_id = 0;     ///< of the last INSERT or REPLACE; 0: not known

  /// Carries out SET, USE, and what begins or ends a transaction; a refused SET changes nothing.
  /// ROLLBACK after a change leaves a warning. Returns how many. `facts`: with these variables.
  std::expected<std::uint16_t, MysqlError> carry_out(const SessionStatement& statement,
                                                     const MysqlConnectionFacts& facts);
  /// A statement has changed documents, or may have.
  void note_change() { changed_ = in_transaction_ || !variables.autocommit(); }
  /// Whether changes are refused, because the client has said that there are none.
  bool read_only() const { return in_transaction_ ? reads_only_ : variables.read_only(); }
  /// mysql_status
  std::uint16_t status() const;

 private:
  std::uint16_t warn_of_changes();
  void end(bool chain);

  bool in_transaction_ = false;
  bool reads_only_ = false;  ///< the transaction
  bool changed_ = false;     ///< something within the transaction
};

}  // namespace karmad
