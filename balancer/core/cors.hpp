#pragma once

#include <string>
#include <string_view>

#include "agent/transport/http/http_head.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// What a web page asks of karmad with a request (CORS, of the Fetch standard).
struct CorsRequest {
  std::string origin;         ///< value of Access-Control-Allow-Origin; empty: none
  bool is_preflight = false;  ///< a browser asks beforehand whether its page may send a request
  std::string headers;        ///< those that a preflight asks for; empty: none
};

/// Compares the request's origin with those that are allowed, as a whole. Pure.
CorsRequest cors_request(std::string_view method, const Head& fields, const Origins& allowed);

/// How long a browser may remember the answer to a preflight, in seconds.
inline constexpr std::string_view kPreflightAge = "600";

}  // namespace karmad
