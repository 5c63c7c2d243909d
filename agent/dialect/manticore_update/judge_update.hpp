#pragma once

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// The meaning of an answer to an update: as for a search, except that two errors are the client's:
/// a bulk with failed actions (`errors`), and a conflict in any status. A 500 without an error text
/// cannot be read: it does not tell what was done.
Judgement judge_update(const AgentReply& reply);

/// Whether the text of an update's error, over JSON or SQL, blames the client.
bool is_update_conflict(std::string_view error);

}  // namespace karmad
