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

std::optional<IpAddress> parse_address(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != text.npos) return std::nullopt;
  const std::string spelt(text);
  if (in_addr v4{}; ::inet_pton(AF_INET, spelt.c_str(), &v4) == 1)
    return IpAddress::v4(ntohl(v4.s_addr));
  if (in6_addr v6{}; ::inet_pton(AF_INET6, spelt.c_str(), &v6) == 1)
    return IpAddress::v6(v6.s6_addr);
  return std::nullopt;
}

std::string text(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> spelt{};
  if (address.is_v4()) {
    const in_addr v4{.s_addr = htonl(static_cast<std::uint32_t>(address.low))};
    ::inet_ntop(AF_INET, &v4, spelt.data(), spelt.size());
    return spelt.data();
  }
  in6_addr v6{};
  for (unsigned i = 0; i < 16; ++i) {
    const auto half = i < 8 ? address.high : address.low;
    v6.s6_addr[i] = static_cast<unsigned char>(half >> (56 - 8 * (i % 8)));
  }
  ::inet_ntop(AF_INET6, &v6, spelt.data(), spelt.size());
  return spelt.data();
}

std::string text(const AddressRange& range) {
  const bool v4 = range.first.is_v4() && range.bits >= 96;
  return fmt::format("{}/{}", text(range.first), v4 ? range.bits - 96 : range.bits);
}

}  // namespace karmad
