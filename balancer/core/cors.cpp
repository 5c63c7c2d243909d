#include "balancer/core/cors.hpp"

#include <algorithm>

#include "agent/json/equals_literal.hpp"

namespace karmad {

CorsRequest cors_request(std::string_view method, const Head& fields, const Origins& allowed) {
  constexpr std::size_t kMostHeaders = 4096;  // bytes of names that a page may ask for
  CorsRequest request;
  const auto origin = fields.find("Origin");
  if (allowed.any)
    request.origin = "*";
  else if (!origin.empty() && std::ranges::find(allowed.list, origin) != allowed.list.end())
    request.origin = origin;
  request.is_preflight = equals_literal(method, "OPTIONS") && !origin.empty() &&
                         fields.framing == Framing::none &&
                         !fields.find("Access-Control-Request-Method").empty();
  if (!request.is_preflight || request.origin.empty()) return request;
  const auto headers = fields.find("Access-Control-Request-Headers");
  if (headers.size() <= kMostHeaders) request.headers = headers;
  return request;
}

}  // namespace karmad
