#pragma once

#include <cstddef>
#include <string>

#include "agent/mirrors/attempt.hpp"

namespace karmad {

struct Shard;

/// An error of a mirror whose text does not show whether the query or the mirror caused it. If it
/// may be the query's, it is recorded when that is decided: if a second mirror gives the same
/// error, the query is at fault and both mirrors count as answering; if another mirror answers, or
/// none is left, it is the mirror's error. Belongs to its query.
struct ErrorAttribution {
  const Shard* shard;
  std::size_t mirror;  ///< its position in the set
  std::string text;    ///< text in the form of comparable()
  AttemptResult end;   ///< the attempt, without its reply
  bool recorded;       ///< already, as the mirror's error
};

}  // namespace karmad
