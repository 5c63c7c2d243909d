#include "config/own_address.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "config/settings/address_range.hpp"

namespace karmad {

namespace {

constexpr IpAddress kLoopback4{0, 0xffff'7f00'0001};
constexpr IpAddress kLoopback6{0, 1};
constexpr IpAddress kAny4{0, 0xffff'0000'0000};
constexpr IpAddress kAny6{0, 0};

/// The address that a text means, without its zone; none for a name.
std::optional<IpAddress> address_in(std::string_view host) {
  return parse_address(host.substr(0, host.find('%')));
}

std::string_view without_dot(std::string_view name) {
  return name.substr(0, name.size() - (name.ends_with('.') ? 1 : 0));
}

bool is_loopback(const IpAddress& address) {
  if (address.is_v4()) return (address.low >> 24 & 0xff) == 127;
  return address == kLoopback6;
}

bool is_link_local(const IpAddress& address) {
  return address.high >> 54 == 0xfe80 >> 6;
}

bool is_everywhere(const Address& listen) {
  return listen.host.empty() || listen.host == "*";
}

/// Whether the listener gets connections to that address of this machine.
bool accepts(const Address& listen, const IpAddress& address) {
  if (is_everywhere(listen)) return true;
  if (without_dot(listen.host) == "localhost")
    return address == kLoopback4 || address == kLoopback6;
  const auto own = address_in(listen.host);
  if (!own) return false;
  if (*own == kAny4) return address.is_v4();
  if (*own == kAny6) return !address.is_v4();
  return *own == address;
}

/// The only address of that family by which other machines reach this one; none: there are several.
bool is_only_one(const ThisHost& host, const IpAddress& wanted) {
  std::optional<IpAddress> found;
  for (const auto& text : host.addresses) {
    const auto address = address_in(text);
    if (!address || is_loopback(*address) || is_link_local(*address) ||
        address->is_v4() != wanted.is_v4() || address == found)
      continue;
    if (found) return false;
    found = address;
  }
  return found == wanted;
}

bool has_address(const ThisHost& host, const IpAddress& wanted) {
  return std::ranges::any_of(host.addresses,
                             [&](const auto& text) { return address_in(text) == wanted; });
}

/// The same for a name of this machine, which stands for one of its addresses.
bool means_listener(const Address& listen, const ThisHost& host) {
  const auto address = address_in(listen.host);
  if (is_everywhere(listen) || address == kAny4) return true;
  return address && is_only_one(host, *address);
}

bool is_same_path(const Address& a, const Address& b) {
  const auto normal = [](const Address& address) {
    return std::filesystem::path(address.unix_path).lexically_normal();
  };
  return a.is_unix() == b.is_unix() && normal(a) == normal(b);
}

}  // namespace

std::string_view kind_without_server(std::string_view host) {
  const auto address = address_in(host);
  if (!address) return "";
  const auto v4 = static_cast<std::uint32_t>(address->low);
  if (address == kAny4 || address == kAny6) return "unspecified";
  if (address->is_v4() && v4 == 0xffff'ffff) return "broadcast";
  const bool multicast = address->is_v4() ? v4 >> 28 == 0xe : address->high >> 56 == 0xff;
  return multicast ? "multicast" : "";
}

bool overlap(const Address& a, const Address& b) {
  if (a.is_unix() || b.is_unix()) return is_same_path(a, b);
  if (a.port != b.port) return false;
  if (a.host == b.host || is_everywhere(a) || is_everywhere(b)) return true;
  const auto first = address_in(a.host);
  const auto second = address_in(b.host);
  return (first && accepts(b, *first)) || (second && accepts(a, *second));
}

bool leads_here(const Address& listen, const Address& agent, const ThisHost& host) {
  if (listen.is_unix() || agent.is_unix()) return is_same_path(listen, agent);
  if (agent.host.empty() || listen.port == 0 || listen.port != agent.port) return false;
  const auto name = without_dot(agent.host);
  if (name == without_dot(listen.host)) return true;
  if (name == "localhost") return accepts(listen, kLoopback4) || accepts(listen, kLoopback6);
  if (std::ranges::find(host.names, name) != host.names.end()) return means_listener(listen, host);
  auto address = address_in(name);
  if (!address) return false;
  // A connection to the unspecified address goes to this machine.
  if (*address == kAny4) address = kLoopback4;
  if (*address == kAny6) address = kLoopback6;
  return (is_loopback(*address) || has_address(host, *address)) && accepts(listen, *address);
}

}  // namespace karmad
