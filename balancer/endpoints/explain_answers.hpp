#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// `/explain?table=T`: what a request would see now, also with `read_preference` and `operation`.
/// 400 for other parameters, 404 for an unknown table, with the known ones.
Answer explain_table(Query& query);

/// `/explain/ID`: what was decided about the request with this X-Request-Id, or with this number in
/// the process. 404 if no worker has it any more.
Task<Answer> explain_request(Query& query);

}  // namespace karmad
