#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "agent/transport/http/http_head.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad::wire {

// Parsing steps shared by request and response heads; only these two parsers include this.

/// Result of a step. `more`: the bytes are incomplete; `bad`: the cursor has the reason.
enum class Scan : std::uint8_t { done, more, bad };

/// A position in the bytes; it only moves forward.
struct Cursor {
  const char* at;
  const char* end;
  HeadError error;

  std::size_t left() const { return static_cast<std::size_t>(end - at); }
  Scan bad(int status, std::string reason) {
    error = {status, std::move(reason)};
    return Scan::bad;
  }
};

/// Values of the fields for framing and connection, before they are checked.
struct Noted {
  std::string_view host, length, encoding, expect;
  unsigned hosts = 0, lengths = 0, encodings = 0, expects = 0, options = 0;
  bool close = false;
  bool keep_alive = false;
  std::string_view authority;  // of an absolute-form target
};

inline std::string_view view(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

/// Text of the peer for use in a message: shortened and printable.
std::string quoted(std::string_view text);

inline const char* skip(const char* at, const char* end, ByteSet set) {
  while (at != end && in_set(*at, set)) ++at;
  return at;
}

/// Skips bytes that are allowed in a field's value.
const char* skip_value(const char* at, const char* end);

/// The slow path of line_end(): there is no CRLF.
Scan no_line_end(Cursor& cursor);

/// Skips a CRLF; the cursor is at the byte that ended the text before it.
inline Scan line_end(Cursor& cursor) {
  if (cursor.left() < 2 || cursor.at[0] != '\r' || cursor.at[1] != '\n') return no_line_end(cursor);
  cursor.at += 2;
  return Scan::done;
}

/// Skips `HTTP/1.0` or `HTTP/1.1`; another version is 505, anything else 400.
Scan version(Cursor& cursor, unsigned& minor);

/// Skips the field lines and the empty line after them.
Scan fields(Cursor& cursor, std::size_t limit, Head& head, Noted& noted);

/// Framing and persistence by the fields alone; Framing::none if they do not say.
Scan judge_common(Cursor& cursor, const Noted& noted, Head& head);

/// Whether a field `Connection` of the head names this option, whatever its case.
bool connection_names(const Head& head, std::string_view option);

/// Runs `parse` on at most the first `limit` bytes.
template <class Parse>
std::expected<HeadState, HeadError> within(std::string_view bytes, std::size_t limit, Head& head,
                                           Parse parse) {
  if (bytes.empty()) return HeadState::incomplete;
  const auto allowed = bytes.substr(0, limit);
  Cursor cursor{allowed.data(), allowed.data() + allowed.size(), {}};
  Scan scan = parse(cursor);
  if (scan == Scan::more && allowed.size() == limit)
    scan = cursor.bad(431, "the head is larger than " + std::to_string(limit) + " bytes");
  if (scan == Scan::bad) return std::unexpected(std::move(cursor.error));
  if (scan == Scan::more) return HeadState::incomplete;
  head.size = static_cast<std::size_t>(cursor.at - allowed.data());
  return HeadState::complete;
}

}  // namespace karmad::wire
