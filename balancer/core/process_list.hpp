#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/time.hpp"

namespace karmad {

/// Whose a client's connection is. One owner sees and ends his connections, and no others.
struct ClientOwner {
  std::string user;
  std::string address;

  bool operator==(const ClientOwner&) const = default;
};

/// What a client's connection does, in the words of SHOW PROCESSLIST.
struct ClientProcess {
  std::uint64_t connection = 0;  ///< as KILL names it
  std::string user;
  std::string host;  ///< address and port
  std::string database;
  std::string_view command;
  Micros lasts{};  ///< since the command began
  std::string_view state;
  std::string statement;  ///< empty: it runs none
};

/// The connections of clients that have numbers: those of the MySQL protocol.
struct ProcessList {
  static constexpr std::size_t kMost = 10'000;
  static constexpr std::size_t kLongestStatement = 64 << 10;  ///< what is longer is cut
  static constexpr std::size_t kMostBytes = 4 << 20;          ///< of all statements

  std::optional<ClientOwner> owner{};  ///< nothing: of all, an operator asks
  std::vector<ClientProcess> processes{};
  std::size_t bytes = 0;
  std::size_t left_out = 0;

  /// Whether a connection of that owner is to be added; counts one for which there is no room.
  bool has_room_for(const ClientOwner& of) {
    if (owner && *owner != of) return false;
    const bool has_room = processes.size() < kMost && bytes < kMostBytes;
    left_out += has_room ? 0 : 1;
    return has_room;
  }
  void add(ClientProcess process) {
    bytes += process.statement.size();
    processes.push_back(std::move(process));
  }
};

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

}  // namespace karmad
