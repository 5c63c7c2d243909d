#pragma once

#include "agent/dialect/dialect_kind.hpp"

namespace karmad {

/// Any HTTP server: requests below a prefix go to one mirror as they are, answers come back as they
/// are.
extern const DialectKind kHttp;

/// GET and HEAD may run twice, and so may a POST to what the `reads` paths name (a `*` at the end
/// stands for anything). A follow-up (follow_up.hpp) is neither repeated nor spread.
std::unique_ptr<Dialect> make_opaque_http(TableRoute route);

}  // namespace karmad
