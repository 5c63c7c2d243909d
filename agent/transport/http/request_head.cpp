#include <fmt/format.h>

#include <algorithm>

#include "agent/transport/http/head_lines.hpp"
#include "config/text/number_in.hpp"

namespace karmad {

using namespace wire;

namespace {

constexpr std::size_t kMaxMethod = 32;
constexpr int kMaxEmptyLines = 4;  // some clients send a CRLF too many after a body

bool valid_port(std::string_view port) {
  return port.empty() || (port.size() <= 5 && number_in<std::uint16_t>(port));
}

/// `host`, `host:port`, `[v6]` or `[v6]:port`; the port may be empty (RFC 3986 section 3.2.3).
bool valid_host(std::string_view text) {
  if (text.empty()) return false;
  if (text.front() == '[') {
    const auto close = text.find(']');
    if (close == text.npos) return false;
    const auto address = text.substr(1, close - 1);
    const auto after = text.substr(close + 1);
    const bool v6 = address.find(':') != address.npos &&
                    std::all_of(address.begin(), address.end(),
                                [](char c) { return in_set(c, kHexByte) || c == ':' || c == '.'; });
    return v6 && (after.empty() || (after.front() == ':' && valid_port(after.substr(1))));
  }
  const auto* const end = text.data() + text.size();
  const auto* const behind = skip(text.data(), end, kHostByte);
  return behind != text.data() &&
         (behind == end || (*behind == ':' && valid_port(view(behind + 1, end))));
}

Scan judge_host(Cursor& cursor, const Noted& noted, const RequestHead& head) {
  if (noted.hosts > 1) return cursor.bad(400, "more than one Host");
  if (noted.hosts == 0)
    return head.minor_version == 0 ? Scan::done : cursor.bad(400, "no Host in HTTP/1.1");
  if (!valid_host(noted.host))
    return cursor.bad(
        400, fmt::format("Host is {}, not a host with or without a port", quoted(noted.host)));
  if (!noted.authority.empty() && !same_word(noted.authority, noted.host))
    return cursor.bad(400, fmt::format("the target names the host {}, Host says {}",
                                       quoted(noted.authority), quoted(noted.host)));
  return Scan::done;
}

Scan judge_request(Cursor& cursor, const Noted& noted, RequestHead& head) {
  if (const auto scan = judge_common(cursor, noted, head); scan != Scan::done) return scan;
  if (const auto scan = judge_host(cursor, noted, head); scan != Scan::done) return scan;
  head.expect_continue = false;
  if (noted.expects > 0 && head.minor_version == 1) {  // RFC 9110 section 10.1.1: 1.0 ignores it
    if (noted.expects > 1 || !same_word(noted.expect, "100-continue"))
      return cursor.bad(
          417, fmt::format("Expect is {}, only 100-continue is understood", quoted(noted.expect)));
    head.expect_continue = head.framing == Framing::chunked || head.content_length > 0;
  }
  return Scan::done;
}

/// The error for a first byte that cannot start a method.
Scan not_http(Cursor& cursor) {
  const auto byte = static_cast<unsigned char>(*cursor.at);
  return cursor.bad(400, fmt::format("this is not HTTP: it begins with byte 0x{:02x}", byte));
}

Scan method(Cursor& cursor, RequestHead& head) {
  const char* const begin = cursor.at;
  cursor.at = skip(begin, begin + std::min(cursor.left(), kMaxMethod + 1), kTokenByte);
  head.method = view(begin, cursor.at);
  if (head.method.size() > kMaxMethod)
    return cursor.bad(501, fmt::format("the method {} is unknown", quoted(head.method)));
  if (cursor.at == cursor.end) return Scan::more;
  if (head.method.empty()) return not_http(cursor);
  if (*cursor.at != ' ')
    return cursor.bad(400, fmt::format("no space after the method {}", quoted(head.method)));
  if (head.method == "CONNECT") return cursor.bad(501, "CONNECT: this is not a proxy");
  ++cursor.at;
  return Scan::done;
}

/// The error for a target that is not followed by a space.
Scan bad_target(Cursor& cursor) {
  const auto byte = static_cast<unsigned char>(*cursor.at);
  if (byte == '#') return cursor.bad(400, "a fragment (#) in the target");
  if (byte == '\r' || byte == '\n') return cursor.bad(400, "no HTTP version after the target");
  return cursor.bad(400, fmt::format("byte 0x{:02x} in the target: it must be %-encoded", byte));
}

Scan target(Cursor& cursor, std::size_t longest, RequestHead& head) {
  const char* const begin = cursor.at;
  cursor.at = skip(begin, begin + std::min(cursor.left(), longest + 1), kTargetByte);
  head.target = view(begin, cursor.at);
  if (head.target.size() > longest)
    return cursor.bad(414, fmt::format("the target is longer than {} bytes", longest));
  if (cursor.at == cursor.end) return Scan::more;
  if (*cursor.at != ' ') return bad_target(cursor);
  if (head.target.empty()) return cursor.bad(400, "a space where the target should be");
  ++cursor.at;
  return Scan::done;
}

/// Splits the target by its form (RFC 9112 section 3.2).
Scan split_target(Cursor& cursor, RequestHead& head, Noted& noted) {
  auto rest = head.target;
  head.query = {};
  if (rest == "*") {
    head.path = rest;
    return head.method == "OPTIONS" ? Scan::done
                                    : cursor.bad(400, "the target * is for OPTIONS only");
  }
  if (rest.front() != '/') {
    const auto scheme = rest.find("://");
    if (scheme == rest.npos ||
        !(same_word(rest.substr(0, scheme), "http") || same_word(rest.substr(0, scheme), "https")))
      return cursor.bad(
          400, fmt::format("the target {} is neither a path nor an http URI", quoted(rest)));
    rest.remove_prefix(scheme + 3);
    noted.authority = rest.substr(0, rest.find_first_of("/?"));
    if (!valid_host(noted.authority))
      return cursor.bad(400, fmt::format("the target names the host {}, not a host with or "
                                         "without a port",
                                         quoted(noted.authority)));
    rest.remove_prefix(noted.authority.size());
  }
  const auto mark = std::min(rest.find('?'), rest.size());
  head.path = mark == 0 ? std::string_view{"/"} : rest.substr(0, mark);
  if (mark < rest.size()) head.query = rest.substr(mark + 1);
  return Scan::done;
}

Scan empty_lines(Cursor& cursor) {
  for (int lines = 0; cursor.at != cursor.end && *cursor.at == '\r'; ++lines) {
    if (lines == kMaxEmptyLines) return cursor.bad(400, "empty lines instead of a request");
    if (const auto scan = line_end(cursor); scan != Scan::done) return scan;
  }
  return Scan::done;
}

Scan request_line(Cursor& cursor, std::size_t longest_target, RequestHead& head, Noted& noted) {
  if (const auto scan = method(cursor, head); scan != Scan::done) return scan;
  if (const auto scan = target(cursor, longest_target, head); scan != Scan::done) return scan;
  if (const auto scan = version(cursor, head.minor_version); scan != Scan::done) return scan;
  if (cursor.at == cursor.end) return Scan::more;
  if (const auto scan = split_target(cursor, head, noted); scan != Scan::done) return scan;
  return line_end(cursor);
}

Scan request(Cursor& cursor, const HeadLimits& limits, RequestHead& head) {
  Noted noted;
  if (const auto scan = empty_lines(cursor); scan != Scan::done) return scan;
  if (const auto scan = request_line(cursor, limits.size / 2, head, noted); scan != Scan::done)
    return scan;
  if (const auto scan = fields(cursor, limits.fields, head, noted); scan != Scan::done) return scan;
  return judge_request(cursor, noted, head);
}

}  // namespace

std::expected<HeadState, HeadError> parse_request_head(std::string_view bytes,
                                                       const HeadLimits& limits,
                                                       RequestHead& head) {
  return within(bytes, limits.size, head,
                [&](Cursor& cursor) { return request(cursor, limits, head); });
}

}  // namespace karmad
