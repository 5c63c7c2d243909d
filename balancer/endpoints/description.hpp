#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Answers `GET /hello`: what karmad says of itself in the native description, so that another
/// karmad can have it as a mirror. With one table, one shard and one mirror (or `?table=NAME` of
/// that shape) it is that mirror's side-car and says what the mirror said; else it is a router.
Answer describe_balancer(Query& query);

}  // namespace karmad
