#pragma once

#include <span>
#include <utility>

#include "balancer/core/query.hpp"

namespace karmad {

/// The application's handles.
std::span<const UserHandle> user_handles(const Query& query);

/// Calls the application's handles in their order; without any it calls the next step directly.
template <class Last>
class UserHandles {
 public:
  constexpr explicit UserHandles(Last next) : next_(std::move(next)) {}

  Task<Answer> operator()(Query& query) const { return Next(user_handles(query), next_)(query); }

 private:
  Last next_;
};

}  // namespace karmad
