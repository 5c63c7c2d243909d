#pragma once

#include <cstdint>
#include <string>

#include "demo/engine/engine.hpp"
#include "demo/switches.hpp"

namespace karmad::demo {

/// How an answer is sent.
struct WireOptions {
  std::string name;  ///< X-Demo-Agent
  std::string date;  ///< Date; empty: not sent
  int retry_after = -1;
  bool head = false;       ///< the head only
  bool http10 = false;     ///< the request was HTTP/1.0
  bool keep_alive = true;  ///< as the request asks
};

/// What happens to the connection after the answer.
enum class After : std::uint8_t { keep, close, reset, silence };

struct Delivery {
  std::string bytes;
  After after = After::keep;
};

/// An answer as bytes, changed as `mode` says. The session handles `refuse` and `huge`: here they
/// are like `ok` (`huge` without its body).
Delivery deliver(const HttpAnswer& answer, Mode mode, const WireOptions& options);

}  // namespace karmad::demo
