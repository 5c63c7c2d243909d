#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

/// An IP address as one number. IPv4 addresses are mapped as in RFC 4291 (`::ffff:a.b.c.d`), so
/// that a peer has the same value on sockets of both families.
struct IpAddress {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  static IpAddress v4(std::uint32_t host_order) {
    return {0, std::uint64_t{0xffff} << 32 | host_order};
  }
  static IpAddress v6(std::span<const unsigned char, 16> network_order);

  bool is_v4() const { return high == 0 && low >> 32 == 0xffff; }
  bool operator==(const IpAddress&) const = default;
};

/// An address of IPv4 or IPv6, without brackets, port or zone.
std::optional<IpAddress> parse_address(std::string_view text);
/// `10.0.0.1`, `2001:db8::1`; of a mapped address that of IPv4.
std::string text(const IpAddress& address);

/// All addresses with the same first bits, in CIDR form: `10.0.0.0/8`, `fe80::/10`.
struct AddressRange {
  IpAddress first;
  unsigned bits = 128;  ///< of 128; IPv4 uses the last 32

  /// An IPv6 range contains no IPv4 address, even if it covers all mapped addresses.
  bool contains(const IpAddress& address) const {
    return IpAddress{address.high & high_mask(), address.low & low_mask()} == first &&
           (bits >= 96 || !address.is_v4());
  }
  std::uint64_t high_mask() const {
    return bits >= 64 ? ~std::uint64_t{0} : bits == 0 ? 0 : ~std::uint64_t{0} << (64 - bits);
  }
  std::uint64_t low_mask() const { return bits <= 64 ? 0 : ~std::uint64_t{0} << (128 - bits); }
  bool operator==(const AddressRange&) const = default;
};
using AddressRanges = std::vector<AddressRange>;

/// Whether one of the ranges contains the address; costs nothing without ranges.
inline bool contains(const AddressRanges& ranges, const IpAddress& address) {
  for (const auto& range : ranges)
    if (range.contains(address)) return true;
  return false;
}

/// `10.0.0.0/8`, `::1/128`.
std::string text(const AddressRange& range);

}  // namespace karmad
