#include "agent/transport/http/http_head.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/transport/http/head_lines.hpp"

namespace karmad {

using namespace wire;

namespace {

Scan status_line(Cursor& cursor, ResponseHead& head) {
  if (const auto scan = version(cursor, head.minor_version); scan != Scan::done) return scan;
  constexpr std::size_t size = 4;  // of " 200"
  const char* const text = cursor.at;
  for (std::size_t i = 0; i < std::min(cursor.left(), size); ++i)
    if (i == 0 ? text[i] != ' ' : !in_set(text[i], kDigitByte))
      return cursor.bad(502, "no status of three digits after the HTTP version");
  if (cursor.left() <= size) return Scan::more;
  head.status = (text[1] - '0') * 100 + (text[2] - '0') * 10 + (text[3] - '0');
  if (head.status < 100 || head.status > 599)
    return cursor.bad(502, fmt::format("status {} is none of 100 to 599", head.status));
  cursor.at += size;
  if (*cursor.at != ' ' && *cursor.at != '\r')
    return cursor.bad(502, "the status has more than three digits");
  const char* const reason = cursor.at;
  cursor.at = skip_value(reason, cursor.end);
  if (cursor.at == cursor.end) return Scan::more;
  head.reason = wire::trimmed(view(reason, cursor.at));
  return line_end(cursor);
}

/// RFC 9112 section 6.3: which answers have a body, and how it ends.
void frame_response(bool to_head, ResponseHead& head) {
  const bool never = head.status < 200 || head.status == 204;
  const bool announced = head.framing == Framing::chunked || head.content_length > 0;
  if (never && announced) head.keep_alive = false;  // bytes may follow although they must not
  if (never || to_head || head.status == 304) {
    head.framing = Framing::none;
  } else if (head.framing == Framing::none) {
    head.framing = Framing::until_close;
    head.keep_alive = false;
  }
}

Scan response(Cursor& cursor, const HeadLimits& limits, bool to_head, ResponseHead& head) {
  Noted noted;
  if (const auto scan = status_line(cursor, head); scan != Scan::done) return scan;
  if (const auto scan = fields(cursor, limits.fields, head, noted); scan != Scan::done) return scan;
  if (const auto scan = judge_common(cursor, noted, head); scan != Scan::done) return scan;
  frame_response(to_head, head);
  return Scan::done;
}

}  // namespace

std::string_view Head::look_for(std::string_view name) const {
  for (const auto& field : all())
    if (field.name.size() == name.size() && same_word(field.name, name)) return field.value;
  return {};
}

bool Head::repeats(std::string_view name) const {
  return std::ranges::count_if(
             all(), [name](const Field& field) { return same_word(field.name, name); }) > 1;
}

std::expected<HeadState, HeadError> parse_response_head(std::string_view bytes,
                                                        const HeadLimits& limits, bool to_head,
                                                        ResponseHead& head) {
  auto state = within(bytes, limits.size, head,
                      [&](Cursor& cursor) { return response(cursor, limits, to_head, head); });
  if (!state) state.error().status = 502;
  return state;
}

bool is_hop_by_hop(const Head& head, std::string_view name) {
  static constexpr std::array<std::string_view, 12> always{"te",
                                                           "expect",
                                                           "trailer",
                                                           "upgrade",
                                                           "connection",
                                                           "keep-alive",
                                                           "proxy-authenticate",
                                                           "content-length",
                                                           "http2-settings",
                                                           "proxy-connection",
                                                           "transfer-encoding",
                                                           "proxy-authorization"};
  static constexpr auto kLengths = [] {
    std::uint32_t lengths = 0;
    for (const auto hop : always) lengths |= 1U << hop.size();
    return lengths;
  }();
  if (name.size() < 32 && (kLengths >> name.size() & 1U) != 0)
    for (const auto hop : always)
      if (same_word(name, hop)) return true;
  return connection_names(head, name);
}

}  // namespace karmad
