#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Answers `GET /hello` with a native description of karmad, so that karmad can be a mirror of
/// another karmad. With one table, one shard and one mirror (or `?table=NAME` for such a table)
/// karmad is a side-car and repeats the mirror's description; else its role is router.
Answer describe_balancer(Query& query);

}  // namespace karmad
