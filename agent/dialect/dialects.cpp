#include "agent/dialect/dialects.hpp"

#include <array>

#include "agent/dialect/manticore/manticore.hpp"
#include "agent/dialect/opaque_http/opaque_http.hpp"

namespace karmad {

Dialects dialects() {
  static constexpr std::array<const DialectKind*, 2> kDialects{
      &kManticore,
      &kHttp,
  };
  return kDialects;
}

}  // namespace karmad
