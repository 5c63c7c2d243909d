#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/dialect/request/sql_statement.hpp"
#include "balancer/mysql/messages.hpp"
#include "balancer/schema/schema.hpp"

namespace karmad::mysql {

struct ConnectionFacts;

/// The variables that a client has set on its connection, `@name` of its own included. At most
/// kMostBytes of them.
class Variables {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;
  static constexpr std::size_t kMostBytes = 4096;

  /// Makes all assignments of a SET, or none if one is refused. Refused are unknown character sets
  /// and wrong values of autocommit, sql_select_limit, wait_timeout and transaction_read_only. An
  /// expression that is not understood changes nothing.
  std::optional<Error> set(std::span<const sql::SessionSetting> settings,
                           const ConnectionFacts& facts);
  /// The value of a name in lower case without `@@`; null: it was not set.
  const std::string* find(std::string_view name) const;

  bool autocommit() const { return is_on("autocommit", true); }
  bool read_only() const { return is_on("transaction_read_only", false); }
  /// Of wait_timeout or sql_select_limit; nothing: it was not set.
  std::optional<std::uint64_t> number(std::string_view name) const;

 private:
  bool is_on(std::string_view name, bool by_default) const {
    const auto* const value = find(name);
    return value == nullptr ? by_default : *value == "1";
  }
  Values values_;
};

/// What a connection tells about itself.
struct ConnectionFacts {
  std::uint32_t id = 0;
  std::string_view user;
  std::string_view host;                 ///< the client's address
  std::string_view database;             ///< the one that the client named
  const Warning* warning = nullptr;      ///< of its last statement; null: none
  const Variables* variables = nullptr;  ///< null: it has set none
  std::uint64_t last_insert_id = 0;
  std::size_t max_packet_size = 0;
  std::uint64_t idle_seconds = 0;  ///< client_timeout
  bool read_only = false;
  bool offers_tls = false;
};

/// What a client has made of its connection: its database, variables and transaction, and what its
/// last statement left. Each statement takes effect at once, also within a transaction, as in a
/// server with tables that cannot roll back. Pure.
class SessionState {
 public:
  static constexpr std::size_t kLongestName = 128;  ///< of a database

  std::string database;
  Variables variables;
  std::optional<Warning> warning;    ///< of the last statement
  std::uint64_t last_insert_id = 0;  ///< of the last INSERT or REPLACE; 0: not known

  /// Carries out SET, USE, and what begins or ends a transaction; a refused SET changes nothing.
  /// ROLLBACK after a change leaves a warning. Returns how many. `facts`: with these variables.
  std::expected<std::uint16_t, Error> carry_out(const sql::SessionStatement& statement,
                                                const ConnectionFacts& facts);
  /// A statement has changed documents, or may have.
  void note_change() { changed_ = in_transaction_ || !variables.autocommit(); }
  /// Whether changes are refused, because the client has said that there are none.
  bool read_only() const { return in_transaction_ ? reads_only_ : variables.read_only(); }
  /// status_flag
  std::uint16_t status() const;

 private:
  std::uint16_t warn_of_changes();
  void end(bool chain);

  bool in_transaction_ = false;
  bool reads_only_ = false;  ///< the transaction
  bool changed_ = false;     ///< something within the transaction
};

/// The value of `@@name`, `@@session.name` or `@@global.name` in lower case: as the client has set
/// it, or of those that clients read when they connect; nothing for an unknown one.
std::optional<std::string> value_of_variable(std::string_view name, const ConnectionFacts& facts);

/// What the connection tells about itself, for statements about the schema. Refers to what the
/// facts refer to.
SchemaFacts schema_facts(const ConnectionFacts& facts);

}  // namespace karmad::mysql
