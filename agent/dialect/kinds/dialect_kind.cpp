#include "agent/dialect/kinds/dialect_kind.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/plan/plan.hpp"

namespace karmad {

std::expected<Plan, ClientError> Dialect::plan(const ClientRequest&, const Parsed& parsed,
                                               ShardLayout layout) const {
  return std::unexpected(ClientError{
      501, fmt::format("table {} has {} shards, and their answers to this request cannot be merged",
                       parsed.table, layout.shards)});
}

bool route_covers(std::string_view route, std::string_view path) {
  if (!path.starts_with(route)) return false;
  return route.ends_with('/') || path.size() == route.size() || path[route.size()] == '/';
}

void append_moved(std::string& out, std::string_view path, std::string_view route,
                  std::string_view prefix) {
  // Exactly one slash between the new prefix and the rest.
  const auto rest = path.substr(std::min(route.size(), path.size()));
  out.append(prefix);
  if (out.ends_with('/') && rest.starts_with('/')) out.pop_back();
  if (!out.ends_with('/') && !rest.empty() && !rest.starts_with('/')) out.push_back('/');
  out.append(rest);
  if (out.empty()) out.push_back('/');
}

const DialectKind* find_dialect(Dialects known, std::string_view name) {
  const auto found = std::ranges::find(known, name, &DialectKind::name);
  return found == known.end() ? nullptr : *found;
}

}  // namespace karmad
