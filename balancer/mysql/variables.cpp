#include "balancer/mysql/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "balancer/mysql/messages.hpp"

namespace karmad {
namespace {

struct MysqlVariable {
  std::string_view name;
  std::string_view value;
};

constexpr std::array kMysqlVariables{
    MysqlVariable{"auto_increment_increment", "1"},
    MysqlVariable{"autocommit", "1"},
    MysqlVariable{"character_set_client", "utf8mb4"},
    MysqlVariable{"character_set_connection", "utf8mb4"},
    MysqlVariable{"character_set_database", "utf8mb4"},
    MysqlVariable{"character_set_results", "utf8mb4"},
    MysqlVariable{"character_set_server", "utf8mb4"},
    MysqlVariable{"collation_connection", "utf8mb4_general_ci"},
    MysqlVariable{"collation_database", "utf8mb4_general_ci"},
    MysqlVariable{"collation_server", "utf8mb4_general_ci"},
    MysqlVariable{"have_ssl", "DISABLED"},
    MysqlVariable{"init_connect", ""},
    MysqlVariable{"license", "Apache-2.0"},
    MysqlVariable{"lower_case_table_names", "1"},
    MysqlVariable{"net_buffer_length", "16384"},
    MysqlVariable{"net_write_timeout", "60"},
    MysqlVariable{"performance_schema", "0"},
    MysqlVariable{"protocol_version", "10"},
    MysqlVariable{"query_cache_size", "0"},
    MysqlVariable{"query_cache_type", "OFF"},
    MysqlVariable{"sql_auto_is_null", "0"},
    MysqlVariable{"sql_mode", ""},
    MysqlVariable{"system_time_zone", "UTC"},
    MysqlVariable{"time_zone", "SYSTEM"},
    MysqlVariable{"transaction_isolation", "READ-COMMITTED"},
    MysqlVariable{"tx_isolation", "READ-COMMITTED"},
    MysqlVariable{"version", kMysqlVersion},
    MysqlVariable{"version_comment", "karmad " KARMAD_VERSION},
};

/// The name without `@@` and its scope.
std::string_view plain_variable(std::string_view name) {
  for (const std::string_view prefix : {"@@", ".", "session.", "global.", "local."})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return name;
}

}  // namespace

std::optional<std::string> value_of_variable(std::string_view name,
                                             const MysqlConnectionFacts& facts) {
  name = plain_variable(name);
  if (name == "max_allowed_packet") return fmt::format("{}", facts.max_packet_size);
  if (name == "wait_timeout" || name == "interactive_timeout")
    return fmt::format("{}", facts.idle_seconds);
  if (name == "read_only" || name == "tx_read_only" || name == "transaction_read_only")
    return facts.read_only ? "1" : "0";
  if (name == "warning_count") return facts.warning.empty() ? "0" : "1";
  if (name == "last_insert_id" || name == "identity")
    return fmt::format("{}", facts.last_insert_id);
  if (name == "pseudo_thread_id") return fmt::format("{}", facts.id);
  const auto* const found = std::ranges::find(kMysqlVariables, name, &MysqlVariable::name);
  if (found == kMysqlVariables.end()) return std::nullopt;
  return std::string(found->value);
}

}  // namespace karmad
