#include "agent/dialect/dialect_kind.hpp"

#include <algorithm>

namespace karmad {

bool route_covers(std::string_view route, std::string_view path) {
  if (!path.starts_with(route)) return false;
  return route.ends_with('/') || path.size() == route.size() || path[route.size()] == '/';
}

const DialectKind* find_dialect(Dialects known, std::string_view name) {
  const auto found = std::ranges::find(known, name, &DialectKind::name);
  return found == known.end() ? nullptr : *found;
}

}  // namespace karmad
