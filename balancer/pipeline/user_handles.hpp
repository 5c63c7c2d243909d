#pragma once

#include <span>
#include <utility>

#include "balancer/core/query.hpp"

namespace karmad {

/// The handles of this query's process.
std::span<const UserHandle> user_handles(const Query& query);

/// The application's handles in their order; without any, as if it were not there.
template <class Last>
class UserHandles {
 public:
  constexpr explicit UserHandles(Last next) : next_(std::move(next)) {}

  Task<Answer> operator()(Query& query) const { return Next(user_handles(query), next_)(query); }

 private:
  Last next_;
};

}  // namespace karmad
