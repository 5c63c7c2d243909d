#include "agent/dialect/opaque_http/follow_up.hpp"

#include <array>

#include "agent/dialect/opaque_http/path_tail.hpp"

namespace karmad {
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
