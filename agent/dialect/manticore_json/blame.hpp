#pragma once

#include <string_view>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// Who caused an error, by its text. `unclear`: the text has no known phrase, so the answer of a
/// second mirror decides (docs/operations.md, "Whose mistake an error is").
enum class Blame { client, agent, unclear };

/// Recognizes texts that report a mistake in the query, and texts that report trouble of the
/// server. An unknown table is the agent's error, since karmad chose that name. A phrase that also
/// occurs in the client's body or URL (plain, or with JSON or URL escapes) may be a quotation and
/// is ignored. `request` null: the request is unknown.
Blame blame_of(std::string_view error, const ClientRequest* request);

/// Whether `text` contains `lower_case`, ignoring the case of ASCII letters.
bool contains_folded(std::string_view text, std::string_view lower_case);

}  // namespace karmad
