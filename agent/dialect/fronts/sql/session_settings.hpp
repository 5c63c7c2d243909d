#pragma once

#include <expected>
#include <span>
#include <string>
#include <vector>

#include "agent/dialect/request/sql_statement.hpp"
#include "agent/dialect/request/sql_tokens.hpp"

namespace karmad {

/// The assignments of a SET, whatever their variables and values are. Refused, with the reason:
/// those of a server (GLOBAL, PERSIST), and what is no assignment. `tokens`: those behind SET.
std::expected<std::vector<SessionSetting>, std::string> read_settings(
    std::span<const SqlToken> tokens);

/// Reads BEGIN, START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT and RELEASE SAVEPOINT, or says why
/// it is none. `rest`: the tokens behind `verb`.
std::expected<SessionStatement, std::string> read_transaction(const SqlToken& verb,
                                                              std::span<const SqlToken> rest);

/// Reads `KILL [CONNECTION | QUERY] number`. `rest`: the tokens behind KILL.
std::expected<SessionStatement, std::string> read_kill(std::span<const SqlToken> rest);

}  // namespace karmad
