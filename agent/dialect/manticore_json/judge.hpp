#pragma once

#include <string_view>

#include "agent/dialect/dialect.hpp"
#include "agent/dialect/manticore_json/blame.hpp"

namespace karmad {

/// The checks that all dialects of this server share: status, content type, error bodies.
/// `answered` for a 200 whose body is JSON and no error.
Judgement judge_reply(const AgentReply& reply);

/// The meaning of an error text: the client's mistake, or the agent's error, with a complaint if
/// the text does not show the cause. `request` as for blame_of().
Judgement judge_error(std::string_view error, const ClientRequest* request);

/// Appends an error in this server's form: `{"error":"reason"}`.
void append_error_body(std::string& out, std::string_view reason);

/// A judgement whose message is shortened for logs and warnings.
Judgement judgement(Outcome outcome, std::string_view message);

}  // namespace karmad
