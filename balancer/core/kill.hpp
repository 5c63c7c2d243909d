#pragma once

#include <cstdint>
#include <optional>

#include "balancer/core/process_list.hpp"

namespace karmad {

/// KILL: ends the statement of a client's connection, or the connection.
struct Kill {
  std::uint64_t connection = 0;
  bool statement_only = false;
  std::optional<ClientOwner> owner{};  ///< who asks; nothing: an operator
};

enum class KillOutcome : std::uint8_t {
  unknown,  ///< there is no such connection
  denied,   ///< it is another owner's
  done,
};

/// Asks all workers for the connection. Nothing: they did not answer until `latest`.
Task<std::optional<KillOutcome>> kill_connection(Worker& by, Kill kill, TimePoint latest);

}  // namespace karmad
