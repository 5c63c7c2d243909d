#pragma once

#include <cstdint>
#include <string>

#include "demo/engine.hpp"
#include "demo/switches.hpp"

namespace karmad {

/// How an answer is put on the wire.
struct WireOptions {
  std::string name;  ///< X-Demo-Agent
  int retry_after = -1;
  bool head = false;       ///< the head only
  bool http10 = false;     ///< the request was HTTP/1.0
  bool keep_alive = true;  ///< as the request wants it
};

/// What becomes of the connection.
enum class After : std::uint8_t { keep, close, reset, silence };

struct Delivery {
  std::string bytes;
  After after = After::keep;
};

/// An answer as bytes, disturbed as `mode` says. `refuse` and `huge` are the session's: here they
/// are as `ok` (`huge` without its body).
Delivery deliver(const HttpAnswer& answer, Mode mode, const WireOptions& options);

}  // namespace karmad
