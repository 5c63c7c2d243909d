#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad {

/// Continues `hash` with a text, eight bytes at a time: each request is hashed. Equal texts and
/// starts give equal values.
inline std::uint64_t hashed(std::uint64_t hash, std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;  // 2^64 / the golden ratio
  std::uint64_t word = text.size();
  const auto take = [&] { hash = (std::rotl(hash, 23) ^ word) * kOdd; };
  take();
  const auto* at = text.data();
  const auto* const end = at + text.size();
  for (; end - at > 8; at += 8) {
    std::memcpy(&word, at, 8);
    take();
  }
  if (text.size() >= 8) {
    std::memcpy(&word, end - 8, 8);  // may overlap the word before
  } else {
    for (word = 0; at != end; ++at) word = word << 8 | static_cast<unsigned char>(*at);
  }
  take();
  return hash ^ hash >> 32;
}

/// Identifies the request of a client: equal for repetitions of the same request. A hash of its
/// path and its body (without a body: of its parameters). Of a body beyond 16 KB only the length,
/// the beginning and the end count.
inline std::uint64_t fingerprint(const ClientRequest& request) {
  constexpr std::size_t kPart = 8 << 10;
  const auto text = request.body.empty() ? request.query : request.body;
  auto hash = hashed(hashed(0, request.path), text.substr(0, kPart));
  if (text.size() > kPart) {
    hash = hashed(hash, text.substr(std::max(kPart, text.size() - kPart)));
    hash = hash * 31 + text.size();
  }
  return hash;
}

}  // namespace karmad
