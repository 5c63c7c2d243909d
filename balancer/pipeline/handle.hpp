#pragma once

#include <concepts>

#include "balancer/core/query.hpp"

namespace karmad {

/// A step of the pipeline. It owns the next step, calls it or answers itself, and lives until the
/// query has its answer.
template <class H>
concept Handle = requires(H& handle, Query& query) {
  { handle(query) } -> std::same_as<Task<Answer>>;
};

}  // namespace karmad
