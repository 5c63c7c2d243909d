#include "config/settings/address_range.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

namespace karmad {
namespace {

std::uint64_t number(std::span<const unsigned char> bytes) {
  std::uint64_t value = 0;
  for (const auto byte : bytes) value = value << 8 | byte;
  return value;
}

}  // namespace

IpAddress IpAddress::v6(std::span<const unsigned char, 16> network_order) {
  return {number(network_order.first(8)), number(network_order.last(8))};
}

std::string text(const AddressRange& range) {
  std::array<char, INET6_ADDRSTRLEN> spelt{};
  if (range.first.is_v4() && range.bits >= 96) {
    const in_addr address{.s_addr = htonl(static_cast<std::uint32_t>(range.first.low))};
    ::inet_ntop(AF_INET, &address, spelt.data(), spelt.size());
    return fmt::format("{}/{}", spelt.data(), range.bits - 96);
  }
  in6_addr address{};
  for (unsigned i = 0; i < 16; ++i) {
    const auto half = i < 8 ? range.first.high : range.first.low;
    address.s6_addr[i] = static_cast<unsigned char>(half >> (56 - 8 * (i % 8)));
  }
  ::inet_ntop(AF_INET6, &address, spelt.data(), spelt.size());
  return fmt::format("{}/{}", spelt.data(), range.bits);
}

}  // namespace karmad
