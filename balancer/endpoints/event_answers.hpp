#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// The last events (`since=ID`: those after that id) as a JSON document; as server-sent events if
/// the client accepts text/event-stream. 400 for another parameter, 503 if `max_event_streams`
/// streams are open already.
Answer events_answer(Query& query);

}  // namespace karmad
