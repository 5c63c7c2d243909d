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
#include <variant>
#include <vector>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "agent/dialect/request/sql_statement.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "balancer/mysql/messages.hpp"
#include "balancer/schema/schema.hpp"

namespace karmad::mysql {

/// A prepared statement. Its parameters are put into the text when it is executed.
struct PreparedStatement {
  std::string text;                  ///< without a semicolon at its end
  std::vector<std::size_t> places;   ///< of the question marks that are parameters
  std::vector<std::uint16_t> types;  ///< as the client sent them last: type, flag of unsigned
  bool got_long_data = false;        ///< COM_STMT_SEND_LONG_DATA, which is not supported

  /// Its memory in bytes, that of the types included before they are known.
  std::size_t size() const {
    return sizeof(*this) + text.capacity() + places.capacity() * sizeof(std::size_t) +
           places.size() * sizeof(std::uint16_t);
  }
};

inline constexpr std::size_t kMostParameters = 4096;

/// Finds the question marks outside of quotes and comments. The error says why the text cannot be
/// prepared.
std::expected<PreparedStatement, Error> prepare_statement(std::string_view statement);

/// The statement with the values of a COM_STMT_EXECUTE (`payload`: what follows the number of the
/// statement) as literals: numbers, or texts in quotes with quotes and backslashes escaped. At most
/// `most` bytes. Keeps the types in `prepared`.
std::expected<std::string, Error> bind_values(PreparedStatement& prepared, std::string_view payload,
                                              std::size_t most);

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

/// The answer to a statement about the connection itself: OK once it was carried out, an error, or
/// rows.
using LocalAnswer = std::variant<sql::SessionStatement, Error, ResultSet>;

/// Answers what clients ask a connection: `SET`, `SELECT @@variables`, `SELECT VERSION()`, `BEGIN`,
/// `USE`, `SHOW DATABASES` … Nothing: the statement is not about the connection; then a SELECT has
/// been read (StatementText::read) if it can be.
std::optional<LocalAnswer> answer_locally(sql::StatementText& statement,
                                          const ConnectionFacts& facts);

}  // namespace karmad::mysql
