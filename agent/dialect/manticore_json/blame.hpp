#pragma once

#include <string_view>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// Whose fault the text of a search server's error is. `unclear`: no known phrase says it, so a
/// second mirror has to (docs/operations.md, "Whose mistake an error is").
enum class Blame { client, agent, unclear };

/// Recognizes the texts that blame the query, and those in which a server tells of its own trouble;
/// an unknown table is the agent's, as that name is ours. A phrase of trouble that the client wrote
/// itself, in its body or URL and also with JSON or URL escapes, is only quoted by the error and
/// does not count; neither does a phrase of a mistake. `request` null: nothing is known of it.
Blame blame_of(std::string_view error, const ClientRequest* request);

/// Whether `text` contains `lower_case`, letters of ASCII compared without their case.
bool contains_folded(std::string_view text, std::string_view lower_case);

}  // namespace karmad
