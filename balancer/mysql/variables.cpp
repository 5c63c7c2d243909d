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
    MysqlVariable{"default_storage_engine", "MyISAM"},  // one without transactions
    MysqlVariable{"foreign_key_checks", "1"},
    MysqlVariable{"have_openssl", "DISABLED"},
    MysqlVariable{"have_profiling", "NO"},
    MysqlVariable{"have_ssl", "DISABLED"},
    MysqlVariable{"hostname", "karmad"},
    MysqlVariable{"init_connect", ""},
    MysqlVariable{"innodb_version", ""},
    MysqlVariable{"log_bin", "0"},
    MysqlVariable{"lower_case_file_system", "0"},
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
    MysqlVariable{"sql_safe_updates", "0"},
    MysqlVariable{"sql_select_limit", "18446744073709551615"},
    MysqlVariable{"system_time_zone", "UTC"},
    MysqlVariable{"time_zone", "SYSTEM"},
    MysqlVariable{"transaction_isolation", "READ-COMMITTED"},
    MysqlVariable{"tx_isolation", "READ-COMMITTED"},
    MysqlVariable{"unique_checks", "1"},
    MysqlVariable{"version", kMysqlVersion},
    MysqlVariable{"version_comment", "karmad " KARMAD_VERSION},
    MysqlVariable{"version_compile_machine", "x86_64"},
    MysqlVariable{"version_compile_os", "Linux"},
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

std::vector<std::pair<std::string, std::string>> all_variables(const MysqlConnectionFacts& facts) {
  constexpr std::array<std::string_view, 9> kFacts{
      "max_allowed_packet", "wait_timeout", "interactive_timeout",
      "read_only",          "tx_read_only", "warning_count",
      "last_insert_id",     "identity",     "pseudo_thread_id"};
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&](std::string_view name) {
    if (auto value = value_of_variable(name, facts)) all.emplace_back(name, *std::move(value));
  };
  for (const auto& variable : kMysqlVariables) add(variable.name);
  for (const auto name : kFacts) add(name);
  return all;
}

}  // namespace karmad
