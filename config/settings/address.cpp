#include "config/settings/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/text/source_text.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestUnixPath = 107;  // sun_path has 108 bytes, including the final zero

bool is_host_letter(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

bool is_ipv6(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

std::expected<std::string, Unfit> parse_ipv6(std::string_view bracketed) {
  if (!bracketed.ends_with(']')) return unfit(0, "the '[' of an IPv6 address has no ']'");
  const auto inside = bracketed.substr(1, bracketed.size() - 2);
  const auto zone = inside.find('%');  // fe80::1%eth0
  in6_addr address{};
  if (inet_pton(AF_INET6, std::string(inside.substr(0, zone)).c_str(), &address) != 1)
    return unfit(1, fmt::format("{} is not an IPv6 address", in_quotes(inside)));
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, &address, text.data(), text.size());
  std::string host = text.data();
  if (zone != std::string_view::npos) {
    const auto name = inside.substr(zone + 1);
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_host_letter))
      return unfit(zone + 1, fmt::format("{} is not the zone of an IPv6 address", in_quotes(name)));
    host += inside.substr(zone);
  }
  return host;
}

}  // namespace

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::expected<std::string, Unfit> parse_host(std::string_view text) {
  if (text.empty()) return unfit(0, "a host is missing");
  if (text[0] == '[') return parse_ipv6(text);
  const auto bad = std::find_if_not(text.begin(), text.end(), is_host_letter);
  if (bad != text.end()) {
    if (is_ipv6(std::string(text)))
      return unfit(0, fmt::format("an IPv6 address needs brackets: [{}]", text));
    return unfit(
        static_cast<std::size_t>(bad - text.begin()),
        fmt::format("{} cannot be part of a host name", first_in_quotes({bad, text.end()})));
  }
  const bool no_letter = std::none_of(text.begin(), text.end(), is_letter);
  in_addr address{};
  if (no_letter && inet_pton(AF_INET, std::string(text).c_str(), &address) != 1)
    return unfit(text, "is neither a host name nor an IPv4 address");
  return lower(text);
}

std::expected<std::uint16_t, Unfit> parse_port(std::string_view text) {
  const auto number = parse_count(text);
  if (!number) return std::unexpected(number.error());
  if (*number > 65535) return unfit(0, fmt::format("port {} is larger than 65535", *number));
  return static_cast<std::uint16_t>(*number);
}

std::expected<std::string, Unfit> parse_unix_path(std::string_view text) {
  const auto bad = std::find_if_not(text.begin(), text.end(),
                                    [](char c) { return is_host_letter(c) || c == '/'; });
  if (bad != text.end())
    return unfit(
        static_cast<std::size_t>(bad - text.begin()),
        fmt::format("{} cannot be part of a socket's path", first_in_quotes({bad, text.end()})));
  if (text.size() > kLongestUnixPath)
    return unfit(0, fmt::format("the path of a unix socket has at most {} bytes, this has {}",
                                kLongestUnixPath, text.size()));
  return std::string(text);
}

}  // namespace karmad
