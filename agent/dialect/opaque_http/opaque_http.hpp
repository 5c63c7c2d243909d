#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// Any HTTP server: requests below a prefix go to one mirror as they are, answers come back as they
/// are. GET and HEAD may run twice, and so may a POST to what the `reads` paths name (a `*` at the
/// end stands for anything). A follow-up (follow_up.hpp) is neither repeated nor spread.
struct OpaqueRoute {
  std::string table;
  std::string route;                ///< prefix of the paths it answers, `/x`; `/` is everything
  std::optional<std::string> path;  ///< what replaces the prefix; empty: it is kept
  std::vector<std::string> reads;   ///< as clients write them, without the query string
};

/// True when `path` is the prefix itself or below it.
bool route_covers(std::string_view route, std::string_view path);

std::unique_ptr<Dialect> make_opaque_http(OpaqueRoute route);

}  // namespace karmad
