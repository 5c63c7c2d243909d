#include "agent/dialect/kinds/dialects.hpp"

namespace karmad {

Dialects dialects() {
  static constexpr const DialectKind* kDialects[] = {&kManticore, &kHttp};
  return kDialects;
}

}  // namespace karmad
