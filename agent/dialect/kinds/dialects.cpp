#include "agent/dialect/kinds/manticore.hpp"
#include "agent/dialect/kinds/opaque_http.hpp"

namespace karmad {

Dialects dialects() {
  static constexpr const DialectKind* kDialects[] = {&kManticore, &kHttp};
  return kDialects;
}

}  // namespace karmad
