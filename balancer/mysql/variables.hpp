#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace karmad {

/// What a connection tells about itself.
struct MysqlConnectionFacts {
  std::uint32_t id = 0;
  std::string_view user;
  std::string_view host;      ///< the client's address
  std::string_view database;  ///< the one that the client named
  std::string_view warning;   ///< of its last statement
  std::uint64_t last_insert_id = 0;
  std::size_t max_packet_size = 0;
  std::uint64_t idle_seconds = 0;  ///< client_timeout
  bool read_only = false;
};

/// The value of `@@name`, `@@session.name` or `@@global.name` in lower case, of those that clients
/// read when they connect; nothing for an unknown one.
std::optional<std::string> value_of_variable(std::string_view name,
                                             const MysqlConnectionFacts& facts);

/// All variables that have a value.
std::vector<std::pair<std::string, std::string>> all_variables(const MysqlConnectionFacts& facts);

}  // namespace karmad
