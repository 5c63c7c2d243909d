#pragma once

#include <string_view>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// Whose fault the text of a search server's error is.
enum class Blame { client, agent };

/// Recognizes the texts that blame the query; whatever is not recognized, and an unknown table
/// (that name is ours), is the agent's.
Blame blame_of(std::string_view error);

/// The part of a judgement all dialects of this server share: status, content type, error bodies.
/// `answered` when the reply is a 200 with JSON that is no error.
Judgement judge_reply(const AgentReply& reply);

/// A message bounded in length, fit for logs and warnings.
Judgement judgement(Outcome outcome, std::string_view message);

}  // namespace karmad
