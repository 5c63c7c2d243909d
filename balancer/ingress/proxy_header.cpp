#include "balancer/ingress/proxy_header.hpp"

#include <fmt/format.h>

#include <array>

#include "agent/transport/http/wire_protocol.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

using namespace std::string_view_literals;
using HeaderRead = std::expected<std::optional<ProxyHeader>, std::string>;

constexpr auto kVersion1 = "PROXY "sv;
constexpr auto kVersion2 = "\r\n\r\n\0\r\nQUIT\n"sv;
constexpr std::size_t kLongestLine = 107;  // of version 1, with its end

/// Whether one of the two is the beginning of the other.
bool agree(std::string_view bytes, std::string_view signature) {
  return bytes.substr(0, signature.size()) == signature.substr(0, bytes.size());
}

std::unexpected<std::string> wrong(std::string why) {
  return std::unexpected(std::move(why));
}

/// The error for bytes that are no header at all.
std::unexpected<std::string> other_protocol(std::string_view bytes) {
  if (const auto spoken = recognize_protocol(bytes)) return wrong("it spoke " + spoken->text());
  return wrong(fmt::format("it began with '{}'", printable(bytes)));
}

std::optional<std::uint16_t> port_in(std::string_view word) {
  const bool is_padded = word.size() > 1 && word[0] == '0';
  return is_padded ? std::nullopt : number_in<std::uint16_t>(word);
}

/// `PROXY TCP4 192.0.2.1 192.0.2.2 5000 80`, and the end of the line.
HeaderRead version1(std::string_view bytes) {
  const auto end = bytes.substr(0, kLongestLine).find('\n');
  if (end == bytes.npos) {
    if (bytes.size() < kLongestLine) return std::nullopt;
    return wrong(fmt::format("the line of version 1 is longer than {} bytes", kLongestLine));
  }
  if (bytes[end - 1] != '\r') return wrong("the line of version 1 does not end in CR LF");
  ProxyHeader header{.size = end + 1};
  auto line = bytes.substr(kVersion1.size(), end - 1 - kVersion1.size());
  const auto family = take_until(line, ' ');
  if (family == "UNKNOWN") return header;
  if (family != "TCP4" && family != "TCP6")
    return wrong(fmt::format("'{}' is none of TCP4, TCP6 and UNKNOWN", printable(family)));
  for (const bool of_client : {true, false}) {
    const auto word = take_until(line, ' ');
    const auto address = parse_address(word);
    const bool has_colon = word.find(':') != word.npos;
    if (!address || has_colon != (family == "TCP6"))
      return wrong(fmt::format("'{}' is no address of {}", printable(word), family));
    if (of_client) header.client = address;
  }
  const auto from = take_until(line, ' ');
  const auto port = port_in(from);
  if (!port || !port_in(line))
    return wrong(fmt::format("'{} {}' are not two ports", printable(from), printable(line)));
  header.port = *port;
  return header;
}

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

std::uint16_t word_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(byte_at(bytes, at) << 8 | byte_at(bytes, at + 1));
}

/// The signature, version and command, family, length; then addresses and TLVs.
HeaderRead version2(std::string_view bytes, std::size_t longest) {
  constexpr std::size_t kFixed = 16;
  constexpr unsigned kLocal = 0;
  constexpr unsigned kProxy = 1;
  enum Family : unsigned { unspecified, inet, inet6, unix_socket, families };
  constexpr std::array<std::size_t, families> kAddresses{0, 12, 36, 216};
  if (bytes.size() < kFixed) return std::nullopt;
  const auto command = byte_at(bytes, 12);
  if (command >> 4 != 2) return wrong(fmt::format("version {} is not known", command >> 4));
  if ((command & 15) > kProxy) return wrong(fmt::format("command {} is not known", command & 15));
  const std::size_t length = word_at(bytes, 14);
  ProxyHeader header{.size = kFixed + length};
  if (header.size > longest)
    return wrong(
        fmt::format("it has {} bytes, more than max_header_size ({})", header.size, longest));
  const auto family = byte_at(bytes, 13) >> 4;
  const auto transport = byte_at(bytes, 13) & 15;
  if ((command & 15) != kLocal) {
    if (family >= families || transport > 2)
      return wrong(fmt::format("address family {:#04x} is not known", byte_at(bytes, 13)));
    if (length < kAddresses[family])
      return wrong(fmt::format("{} bytes are too few for its addresses", length));
  }
  if (bytes.size() < header.size) return std::nullopt;
  if ((command & 15) == kLocal) return header;
  const auto addresses = bytes.substr(kFixed);
  if (family == inet) {
    header.client = IpAddress::v4(static_cast<std::uint32_t>(word_at(addresses, 0)) << 16 |
                                  word_at(addresses, 2));
    header.port = word_at(addresses, 8);
  } else if (family == inet6) {
    std::array<unsigned char, 16> address{};
    for (std::size_t i = 0; i < address.size(); ++i)
      address[i] = static_cast<unsigned char>(byte_at(addresses, i));
    header.client = IpAddress::v6(address);
    header.port = word_at(addresses, 32);
  }
  return header;
}

}  // namespace

HeaderRead read_proxy_header(std::string_view bytes, std::size_t longest) {
  if (agree(bytes, kVersion1))
    return bytes.size() < kVersion1.size() ? HeaderRead(std::nullopt) : version1(bytes);
  if (agree(bytes, kVersion2)) return version2(bytes, longest);
  return other_protocol(bytes);
}

}  // namespace karmad
