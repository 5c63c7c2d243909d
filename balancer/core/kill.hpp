#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/transport/loop/task.hpp"
#include "strategies/time.hpp"

namespace karmad {

class Worker;

/// KILL: ends the statement of a client's connection, or the connection.
struct Kill {
  /// Whose connections may be ended.
  struct Owner {
    std::string user;
    std::string address;

    bool operator==(const Owner&) const = default;
  };
  std::uint64_t connection = 0;
  bool statement_only = false;
  std::optional<Owner> owner{};  ///< nothing: all, an operator asks
};

enum class KillOutcome : std::uint8_t {
  unknown,  ///< there is no such connection
  denied,   ///< it is another owner's
  done,
};

/// Asks all workers for the connection. Nothing: they did not answer until `latest`.
Task<std::optional<KillOutcome>> kill_connection(Worker& by, Kill kill, TimePoint latest);

}  // namespace karmad
