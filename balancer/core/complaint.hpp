#pragma once

#include <cstddef>
#include <string>

#include "agent/mirrors/attempt.hpp"

namespace karmad {

struct Shard;

/// An error of a mirror that tells of the query or of the mirror, and no phrase says which. It is
/// not entered into any record before that is decided: when a second mirror says the same, the
/// client is at fault and both are acquitted; when another mirror answers, or none is left, the
/// mirror has made an error. Belongs to its query.
struct Complaint {
  const Shard* shard;
  std::size_t mirror;  ///< its position in the set
  std::string text;    ///< comparable()
  AttemptResult end;   ///< the attempt, without its reply
};

}  // namespace karmad
