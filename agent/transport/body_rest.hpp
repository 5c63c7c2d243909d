#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/transport/loop/loop.hpp"

namespace karmad {

/// The body of a request that is sent while it arrives from its client. It can be sent once. One
/// thread.
class BodyRest {
 public:
  virtual ~BodyRest() = default;
  /// Its length in bytes; none: it is sent in chunks (RFC 9112 section 7.1).
  virtual std::optional<std::uint64_t> length() const = 0;
  /// A part of it was taken: the request can be sent to no other agent.
  virtual bool begun() const = 0;
  /// Puts the next bytes into `piece`, as they are to be sent, or none behind the last ones; waits
  /// for the client. False: the client does not send the rest, or cancel() was called.
  virtual Task<bool> next(std::string& piece) = 0;
  /// Ends a next() that waits.
  virtual void cancel() = 0;
};

}  // namespace karmad
