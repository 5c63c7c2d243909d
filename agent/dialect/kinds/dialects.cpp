#include "agent/dialect/kinds/dialects.hpp"

#include <array>

#include "agent/dialect/kinds/manticore.hpp"
#include "agent/dialect/kinds/opaque_http.hpp"

namespace karmad {

Dialects dialects() {
  static constexpr std::array<const DialectKind*, 2> kDialects{
      &kManticore,
      &kHttp,
  };
  return kDialects;
}

}  // namespace karmad
