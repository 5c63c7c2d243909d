#pragma once

#include <string_view>

#include "agent/dialect/replies/shard_reply.hpp"
#include "agent/dialect/request/client_request.hpp"

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

/// The meaning of an answer to an update: as for a search, except that two errors are the client's:
/// a bulk with failed actions (`errors`), and a conflict in any status. A 500 without an error text
/// cannot be read: it does not tell what was done.
Judgement judge_update(const AgentReply& reply);

/// Whether the text of an update's error, over JSON or SQL, blames the client.
bool is_update_conflict(std::string_view error);

}  // namespace karmad
