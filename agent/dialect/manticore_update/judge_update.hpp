#pragma once

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// What the answer to an update means: as for a search, and a bulk whose actions failed (`errors`)
/// was understood and is the client's business; so is a conflict in whatever status it comes.
Judgement judge_update(const AgentReply& reply);

}  // namespace karmad
