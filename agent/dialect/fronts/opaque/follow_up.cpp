#include "agent/dialect/fronts/opaque/follow_up.hpp"

#include <algorithm>
#include <array>

namespace karmad {

namespace {

/// Removes the last segment and returns it; empty if there is none.
std::string_view take_last(std::string_view& path) {
  const auto slash = path.rfind('/');
  const auto segment = slash == path.npos ? path : path.substr(slash + 1);
  path = slash == path.npos ? std::string_view() : path.substr(0, slash);
  return segment;
}

bool ends_in(std::string_view path, std::string_view tail) {
  while (!tail.empty()) {
    const auto wanted = take_last(tail);
    const auto segment = take_last(path);
    const bool any = wanted == "*" && !segment.empty() && !segment.starts_with('_');
    if (!any && segment != wanted) return false;
  }
  return true;
}

bool names(std::string_view methods, std::string_view method) {
  while (!methods.empty()) {
    const auto end = std::min(methods.find(' '), methods.size());
    if (methods.substr(0, end) == method) return true;
    methods.remove_prefix(std::min(end + 1, methods.size()));
  }
  return false;
}

}  // namespace

bool fits_any(std::span<const PathTail> tails, std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  if (path.ends_with('/')) path.remove_suffix(1);
  return std::ranges::any_of(tails, [&](const PathTail& each) {
    return ends_in(path, each.tail) && names(each.methods, method);
  });
}

namespace {

constexpr std::array kPatterns{
    PathTail{"GET POST DELETE", "_search/scroll"},
    PathTail{"GET POST DELETE", "_search/scroll/*"},
    PathTail{"DELETE", "_search/scroll/_all"},
    PathTail{"DELETE", "_pit"},
    PathTail{"DELETE", "_search/point_in_time"},
    PathTail{"DELETE", "_search/point_in_time/_all"},
    PathTail{"GET DELETE", "_async_search/*"},
    PathTail{"GET", "_async_search/status/*"},
    PathTail{"GET DELETE", "_plugins/_asynchronous_search/*"},
    PathTail{"GET", "_tasks/*"},
    PathTail{"POST", "_tasks/_cancel"},
    PathTail{"POST", "_tasks/*/_cancel"},
    PathTail{"POST", "_sql/close"},
    PathTail{"GET", "_sql/async/*"},
    PathTail{"GET", "_sql/async/status/*"},
    PathTail{"DELETE", "_sql/async/delete/*"},
    PathTail{"GET DELETE", "_query/async/*"},
    PathTail{"POST", "_query/async/*/stop"},
    PathTail{"GET DELETE", "_eql/search/*"},
    PathTail{"GET", "_eql/search/status/*"},
    PathTail{"GET", "request_cancel"},
};

}  // namespace

bool is_follow_up(std::string_view method, std::string_view path) {
  return fits_any(kPatterns, method, path);
}

}  // namespace karmad
