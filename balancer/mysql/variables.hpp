#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/dialect/request/sql_statement.hpp"
#include "balancer/mysql/messages.hpp"
#include "balancer/schema/tables.hpp"

namespace karmad::mysql {

struct ConnectionFacts;

/// The variables that a client has set on its connection, `@name` of its own included. At most
/// kMostBytes of them.
class Variables {
 public:
  static constexpr std::size_t kMostBytes = 4096;

  /// Makes all assignments of a SET, or none if one is refused. Refused are unknown character sets
  /// and wrong values of autocommit, sql_select_limit, wait_timeout and transaction_read_only. An
  /// expression that is not understood changes nothing.
  std::optional<Error> set(std::span<const SessionSetting> settings, const ConnectionFacts& facts);
  /// The value of a name in lower case without `@@`; null: it was not set.
  const std::string* find(std::string_view name) const;

  bool autocommit() const;
  bool read_only() const;
  /// Of wait_timeout or sql_select_limit; nothing: it was not set.
  std::optional<std::uint64_t> number(std::string_view name) const;

 private:
  using Values = std::map<std::string, std::string, std::less<>>;
  static std::optional<Error> set_names(Values& values, std::string_view expression);
  static std::optional<Error> set_transaction(Values& values, std::string_view expression);
  static std::optional<Error> assign(Values& values, const SessionSetting& setting,
                                     const ConnectionFacts& facts);
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

/// The value of `@@name`, `@@session.name` or `@@global.name` in lower case: as the client has set
/// it, or of those that clients read when they connect; nothing for an unknown one.
std::optional<std::string> value_of_variable(std::string_view name, const ConnectionFacts& facts);

/// All variables that have a value.
std::vector<std::pair<std::string, std::string>> all_variables(const ConnectionFacts& facts);

/// What the connection tells about itself, for statements about the schema. Refers to what the
/// facts refer to.
SchemaFacts schema_facts(const ConnectionFacts& facts);

}  // namespace karmad::mysql
