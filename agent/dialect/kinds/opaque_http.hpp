#pragma once

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad {

/// Any HTTP server: a request below a prefix goes to one mirror unchanged, and its answer comes
/// back unchanged.
extern const DialectKind kHttp;

/// GET and HEAD may be retried; so may a POST to one of the `reads` paths (a final `*` matches
/// anything). A follow-up (follow_up.hpp) is neither retried nor sent to another mirror.
std::unique_ptr<Dialect> make_opaque_http(TableRoute route);

}  // namespace karmad
