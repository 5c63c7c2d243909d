#pragma once

#include <string_view>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/blame.hpp"

namespace karmad {

/// The part of a judgement all dialects of this server share: status, content type, error bodies.
/// `answered` when the reply is a 200 with JSON that is no error.
Judgement judge_reply(const AgentReply& reply);

/// What the text of an error means: the client's mistake, or the agent's error, with a complaint
/// where the text does not say whose fault it is. `request` as blame_of() takes it.
Judgement judge_error(std::string_view error, const ClientRequest* request);

/// Appends an error as this server words it: `{"error":"reason"}`.
void append_error_body(std::string& out, std::string_view reason);

/// A message bounded in length, fit for logs and warnings.
Judgement judgement(Outcome outcome, std::string_view message);

}  // namespace karmad
