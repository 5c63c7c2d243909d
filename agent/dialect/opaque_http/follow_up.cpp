#include "agent/dialect/opaque_http/follow_up.hpp"

#include <algorithm>
#include <array>

namespace karmad {
namespace {

/// `*` matches one segment that does not start with an underscore.
struct Pattern {
  std::string_view methods;
  std::string_view tail;  ///< the last segments of the path
};

constexpr std::array kPatterns{
    Pattern{"GET POST DELETE", "_search/scroll"},
    Pattern{"GET POST DELETE", "_search/scroll/*"},
    Pattern{"DELETE", "_search/scroll/_all"},
    Pattern{"DELETE", "_pit"},
    Pattern{"DELETE", "_search/point_in_time"},
    Pattern{"DELETE", "_search/point_in_time/_all"},
    Pattern{"GET DELETE", "_async_search/*"},
    Pattern{"GET", "_async_search/status/*"},
    Pattern{"GET DELETE", "_plugins/_asynchronous_search/*"},
    Pattern{"GET", "_tasks/*"},
    Pattern{"POST", "_tasks/_cancel"},
    Pattern{"POST", "_tasks/*/_cancel"},
    Pattern{"POST", "_sql/close"},
    Pattern{"GET", "_sql/async/*"},
    Pattern{"GET", "_sql/async/status/*"},
    Pattern{"DELETE", "_sql/async/delete/*"},
    Pattern{"GET DELETE", "_query/async/*"},
    Pattern{"POST", "_query/async/*/stop"},
    Pattern{"GET DELETE", "_eql/search/*"},
    Pattern{"GET", "_eql/search/status/*"},
    Pattern{"GET", "request_cancel"},
};

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

bool is_follow_up(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  if (path.ends_with('/')) path.remove_suffix(1);
  return std::ranges::any_of(kPatterns, [&](const Pattern& pattern) {
    return ends_in(path, pattern.tail) && names(pattern.methods, method);
  });
}

}  // namespace karmad
