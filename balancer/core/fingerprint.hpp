#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad {

/// Identifies the request of a client: equal for repetitions of the same request. A hash of its
/// path and its body (without a body: of its parameters). Of a body beyond 16 KB only the length,
/// the beginning and the end count.
inline std::size_t fingerprint(const ClientRequest& request) {
  constexpr std::size_t kPart = 8 << 10;
  constexpr std::hash<std::string_view> kHash;
  const auto text = request.body.empty() ? request.query : request.body;
  auto hash = kHash(request.path) * 31 + kHash(text.substr(0, kPart));
  if (text.size() > kPart)
    hash =
        (hash * 31 + kHash(text.substr(std::max(kPart, text.size() - kPart)))) * 31 + text.size();
  return hash;
}

}  // namespace karmad
