#pragma once

#include <string>
#include <string_view>

#include "agent/transport/loop/loop.hpp"

namespace karmad {

/// Produces the body of an answer while the client reads it. Its length is unknown at the start, so
/// the end of the connection ends the body. One thread.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// Puts the next bytes into `piece`; waits until there are some. False: they are the last ones.
  virtual Task<bool> next(std::string& piece, Stop& stop) = 0;
  /// The last bytes for a client that did not take a piece in time.
  virtual std::string closing_part(std::string_view why) = 0;
};

}  // namespace karmad
