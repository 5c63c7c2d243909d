#include "agent/transport/http/wire_protocol.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/text/enum_names.hpp"

namespace karmad {
namespace {

using Kind = WireProtocol::Kind;

constexpr bool is_printable(char c) {
  return c >= ' ' && c < 0x7f;
}

/// Unsigned bytes, of which those behind the end are 0.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}
  std::size_t size() const { return text_.size(); }
  unsigned operator[](std::size_t i) const {
    return i < text_.size() ? static_cast<unsigned char>(text_[i]) : 0;
  }

 private:
  std::string_view text_;
};

/// The first line, without what ends it.
std::string_view line_of(std::string_view text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

/// RFC 8446 section 5.1: type, version 3.x, length, and of a handshake the kind of message.
std::optional<WireProtocol> tls(const Bytes& bytes) {
  constexpr unsigned kAlert = 0x15;
  constexpr unsigned kHandshake = 0x16;
  constexpr unsigned kClientHello = 1;
  constexpr unsigned kServerHello = 2;
  if (bytes.size() < 2 || bytes[1] != 3 || bytes[2] > 4) return std::nullopt;
  if (bytes[0] == kAlert) return WireProtocol{Kind::tls, "an alert"};
  if (bytes[0] != kHandshake) return std::nullopt;
  if (bytes.size() < 6 || bytes[5] == kClientHello) return WireProtocol{Kind::tls, "a ClientHello"};
  if (bytes[5] == kServerHello) return WireProtocol{Kind::tls, "a ServerHello"};
  return std::nullopt;
}

/// RFC 9113: the preface of a client, or the frame that a server sends first, of stream 0.
std::optional<WireProtocol> http2(std::string_view text, const Bytes& bytes) {
  constexpr unsigned kSettings = 4;
  constexpr unsigned kGoAway = 7;
  constexpr unsigned kLongest = 1 << 14;
  if (text.starts_with("PRI * HTTP/2.0\r\n")) return WireProtocol{Kind::http2, "its preface"};
  const auto length = bytes[0] << 16 | bytes[1] << 8 | bytes[2];
  if (bytes.size() < 9 || length > kLongest || (bytes[5] | bytes[6] | bytes[7] | bytes[8]) != 0)
    return std::nullopt;
  if (bytes[3] == kSettings && bytes[4] <= 1 && length % 6 == 0)
    return WireProtocol{Kind::http2, "a SETTINGS frame"};
  if (bytes[3] == kGoAway && length >= 8) return WireProtocol{Kind::http2, "a GOAWAY frame"};
  return std::nullopt;
}

/// Versions 1 and 2. Empty lines before the signature, which begins with one, may be gone.
std::optional<WireProtocol> proxy(std::string_view text) {
  using namespace std::string_view_literals;
  for (const auto begin : {"PROXY TCP4 ", "PROXY TCP6 ", "PROXY UNKNOWN"})
    if (text.starts_with(begin)) return WireProtocol{Kind::proxy, "version 1"};
  while (text.starts_with("\r\n")) text.remove_prefix(2);
  if (text.starts_with("\0\r\nQUIT\n"sv)) return WireProtocol{Kind::proxy, "version 2"};
  return std::nullopt;
}

/// The first packet of a server, with number 0: protocol 10 and a version, or an error.
std::optional<WireProtocol> mysql(std::string_view text, const Bytes& bytes) {
  constexpr std::size_t kHead = 4;
  constexpr unsigned kShortest = 8;
  constexpr unsigned kLongest = 4096;
  const auto length = bytes[0] | bytes[1] << 8 | bytes[2] << 16;
  if (bytes.size() < kHead + 4 || bytes[3] != 0 || length < kShortest || length > kLongest)
    return std::nullopt;
  text = text.substr(kHead, length);
  if (bytes[kHead] == 10) {
    const auto version = text.substr(1, text.find('\0') - 1);
    if (version.empty() || !std::ranges::all_of(version, is_printable)) return std::nullopt;
    return WireProtocol{Kind::mysql, "a greeting of " + printable(version)};
  }
  const auto code = bytes[kHead + 1] | bytes[kHead + 2] << 8;
  if (bytes[kHead] != 0xff || code < 1000 || code >= 10000) return std::nullopt;
  text.remove_prefix(3);
  if (text.starts_with('#')) text = text.substr(std::min<std::size_t>(text.size(), 6));
  return WireProtocol{Kind::mysql, fmt::format("error {}: {}", code, printable(text, 60))};
}

std::optional<WireProtocol> ssh(std::string_view text) {
  if (!text.starts_with("SSH-2.0") && !text.starts_with("SSH-1.")) return std::nullopt;
  return WireProtocol{Kind::ssh, printable(line_of(text))};
}

std::optional<WireProtocol> redis(std::string_view text) {
  for (const auto begin : {"-ERR ", "-NOAUTH ", "-DENIED "})
    if (text.starts_with(begin)) return WireProtocol{Kind::redis, printable(line_of(text))};
  return std::nullopt;
}

/// A method in capital letters and the target of a request.
std::optional<WireProtocol> http(std::string_view text) {
  constexpr std::size_t kLongestMethod = 10;
  const auto method = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  if (method == text.npos || method < 3 || method > kLongestMethod || text[method] != ' ')
    return std::nullopt;
  const auto target = text.substr(method + 1);
  if (!target.starts_with('/') && !target.starts_with("http://")) return std::nullopt;
  return WireProtocol{Kind::http, ""};
}

}  // namespace

std::string_view WireProtocol::name() const {
  static constexpr auto kNames = enum_names<Kind>({{Kind::http, "HTTP"},
                                                   {Kind::http2, "HTTP/2"},
                                                   {Kind::tls, "TLS"},
                                                   {Kind::proxy, "the PROXY protocol"},
                                                   {Kind::mysql, "MySQL"},
                                                   {Kind::ssh, "SSH"},
                                                   {Kind::redis, "Redis"}});
  return kNames[kind];
}

std::string WireProtocol::text() const {
  return detail.empty() ? std::string(name()) : fmt::format("{} ({})", name(), detail);
}

std::string printable(std::string_view bytes, std::size_t longest) {
  std::string out(bytes.substr(0, longest));
  std::ranges::replace_if(
      out, [](char c) { return !is_printable(c); }, '?');
  if (bytes.size() > longest) out += "…";
  return out;
}

std::optional<WireProtocol> recognize_protocol(std::string_view text) {
  const Bytes bytes(text);
  if (auto found = tls(bytes)) return found;
  if (auto found = http2(text, bytes)) return found;
  if (auto found = proxy(text)) return found;
  if (auto found = mysql(text, bytes)) return found;
  if (auto found = ssh(text)) return found;
  if (auto found = redis(text)) return found;
  return http(text);
}

}  // namespace karmad
