#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace karmad {

inline constexpr std::size_t kCodeBytes = 32;

/// A code for a text that only a holder of the key can make: HMAC (RFC 2104) with SHA-256 (FIPS
/// 180-4).
std::array<std::uint8_t, kCodeBytes> hmac_sha256(std::string_view key, std::string_view text);

}  // namespace karmad
