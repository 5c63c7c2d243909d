#include "balancer/endpoints/route_path.hpp"

#include <algorithm>
#include <string>

#include "agent/transport/http/url_encoding.hpp"

namespace karmad {
namespace {

bool is_control(int byte) {
  return byte < 0x20 || byte == 0x7f;
}

std::string_view trouble_with_escape(int byte) {
  if (byte < 0) return "a % without two hexadecimal digits";
  if (byte == '/') return "an encoded slash";
  if (byte == '\\') return "a backslash";
  if (is_control(byte)) return "a control character";
  if (byte == 0xc0 || byte == 0xc1) return "a byte that is not valid in UTF-8";
  return {};
}

/// Whether a character that was encoded twice could be a separator or part of a `..` segment.
bool hides(int byte) {
  return byte == '/' || byte == '\\' || byte == '.' || byte == '%' || byte == ';' ||
         (byte >= 0 && is_control(byte));
}

std::string_view trouble_with_segment(std::string_view segment) {
  std::string decoded;
  for (std::size_t at = 0; at < segment.size(); ++at) {
    char c = segment[at];
    if (c == '%') {
      const auto byte = escaped_byte(segment.substr(at));
      if (const auto trouble = trouble_with_escape(byte); !trouble.empty()) return trouble;
      c = static_cast<char>(byte);
      at += 2;
    } else if (c == '\\') {
      return "a backslash";
    }
    decoded.push_back(c);
  }
  for (std::size_t at = 0; at < decoded.size(); ++at)
    if (hides(escaped_byte(std::string_view(decoded).substr(at))))
      return "a character that is encoded twice";
  const auto name = std::string_view(decoded).substr(0, decoded.find(';'));
  if (name == "." || name == "..") return "a segment . or ..";
  return {};
}

}  // namespace

std::string_view trouble_with_path(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  while (!path.empty()) {
    const auto end = path.find('/');
    const auto segment = path.substr(0, end);
    if (segment.empty()) return "an empty segment (//)";
    if (const auto trouble = trouble_with_segment(segment); !trouble.empty()) return trouble;
    path = end == path.npos ? std::string_view() : path.substr(end + 1);
  }
  return {};
}

}  // namespace karmad
