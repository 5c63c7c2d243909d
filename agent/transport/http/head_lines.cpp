#include "agent/transport/http/head_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "agent/json/equals_literal.hpp"
#include "agent/json/simd_skip.hpp"
#include "agent/transport/http/wire_protocol.hpp"

namespace karmad::wire {
namespace {

constexpr unsigned kMaxConnectionOptions = 32;

/// The error for a field name that is not followed by a colon.
Scan bad_name(Cursor& cursor, std::string_view name) {
  const auto byte = static_cast<unsigned char>(*cursor.at);
  if (name.empty() && is_blank(*cursor.at))
    return cursor.bad(400, "a header line that begins with a blank (obsolete folding)");
  if (name.empty() && byte == ':') return cursor.bad(400, "a header without a name");
  if (is_blank(*cursor.at))
    return cursor.bad(400, fmt::format("a blank after the header name {}", quoted(name)));
  if (byte == '\r' || byte == '\n')
    return cursor.bad(400, fmt::format("a header line without a colon: {}", quoted(name)));
  return cursor.bad(400,
                    fmt::format("byte 0x{:02x} in a header name, after {}", byte, quoted(name)));
}

/// Skips bytes that are allowed in a field's name.
const char* skip_name(const char* at, const char* end) {
#if defined(__SSE2__)
  at = skip_blocks(at, end, [](__m128i block) {  // nearly all are letters and `-`
    const auto folded = _mm_or_si128(block, _mm_set1_epi8(0x20));
    const auto other = _mm_or_si128(_mm_cmplt_epi8(folded, _mm_set1_epi8('a')),
                                    _mm_cmpgt_epi8(folded, _mm_set1_epi8('z')));
    return _mm_andnot_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('-')), other);
  });
  if (at != end && *at == ':') return at;
#endif
  return skip(at, end, kTokenByte);
}

/// Parses one line; moves the cursor once, at the end.
Scan field_line(Cursor& cursor, Field& field) {
  const char* const end = cursor.end;
  const char* const begin = cursor.at;
  const char* const colon = skip_name(begin, end);
  if (colon == end) return Scan::more;
  field.name = view(begin, colon);
  if (*colon != ':' || colon == begin) {
    cursor.at = colon;
    return bad_name(cursor, field.name);
  }
  const char* const value = colon + 1 != end && colon[1] == ' ' ? colon + 2 : colon + 1;
  const char* const line = skip_value(value, end);
  if (line == end) return Scan::more;
  field.value = trimmed(view(value, line));
  cursor.at = line;
  return line_end(cursor);
}

void note_connection(std::string_view value, Noted& noted, Head& head) {
  for_each_element(value, [&](std::string_view option) {
    ++noted.options;
    if (same_word(option, "close"))
      noted.close = true;
    else if (same_word(option, "keep-alive"))
      noted.keep_alive = true;
    else
      head.connection_names_fields = true;
  });
}

void note(const Field& field, Noted& noted, Head& head) {
  const auto remember = [&](const auto& name, std::string_view& value, unsigned& count) {
    if (!equals_literal(field.name, name) && !same_word(field.name, name)) return;
    value = field.value;
    ++count;
  };
  switch (field.name.size()) {  // the usual spellings
    case 4:
      return remember("Host", noted.host, noted.hosts);
    case 6:
      return remember("Expect", noted.expect, noted.expects);
    case 14:
      return remember("Content-Length", noted.length, noted.lengths);
    case 17:
      return remember("Transfer-Encoding", noted.encoding, noted.encodings);
    case 10:
      if (same_word(field.name, "Connection")) note_connection(field.value, noted, head);
      return;
    default:
      return;
  }
}

Scan judge_length(Cursor& cursor, const Noted& noted, Head& head) {
  const auto text = noted.length;
  if (noted.lengths > 1) return cursor.bad(400, "more than one Content-Length");
  if (text.empty() || !all_in(text, kDigitByte))
    return cursor.bad(400, fmt::format("Content-Length is {}, not a number", quoted(text)));
  const auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), head.content_length);
  if (failure != std::errc{} || text.size() > 20)
    return cursor.bad(413, fmt::format("Content-Length is {}: too large", quoted(text)));
  return Scan::done;
}

Scan judge_encoding(Cursor& cursor, const Noted& noted, const Head& head) {
  const auto text = noted.encoding;
  if (noted.encodings > 1) return cursor.bad(400, "more than one Transfer-Encoding");
  if (noted.lengths > 0) return cursor.bad(400, "both Transfer-Encoding and Content-Length");
  if (head.minor_version == 0) return cursor.bad(400, "Transfer-Encoding in HTTP/1.0");
  if (same_word(text, "chunked")) return Scan::done;
  const bool list = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return in_set(c, kTokenByte) || is_blank(c) || c == ',';
  });
  return cursor.bad(list ? 501 : 400, fmt::format("Transfer-Encoding is {}, only chunked is "
                                                  "understood",
                                                  quoted(text)));
}

}  // namespace

std::string quoted(std::string_view text) {
  return fmt::format("'{}'", printable(text));
}

const char* skip_value(const char* at, const char* end) {
#if defined(__SSE2__)
  at = skip_blocks(at, end, [](__m128i block) {
    const auto control = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1f)), block);
    return _mm_or_si128(control, _mm_cmpeq_epi8(block, _mm_set1_epi8(0x7f)));
  });
  if (at != end && *at == '\r') return at;
#endif
  return skip(at, end, kValueByte);
}

Scan no_line_end(Cursor& cursor) {
  const auto byte = static_cast<unsigned char>(*cursor.at);
  if (byte == '\r') return cursor.left() < 2 ? Scan::more : cursor.bad(400, "a CR without LF");
  if (byte == '\n') return cursor.bad(400, "a LF without CR");
  return cursor.bad(400, fmt::format("byte 0x{:02x} where the line should continue or end", byte));
}

Scan version(Cursor& cursor, unsigned& minor) {
  constexpr std::string_view usual = "HTTP/1.1";
  if (cursor.left() >= usual.size() && std::memcmp(cursor.at, usual.data(), usual.size()) == 0) {
    minor = 1;
    cursor.at += usual.size();
    return Scan::done;
  }
  constexpr std::string_view name = "HTTP/";
  if (std::memcmp(cursor.at, name.data(), std::min(cursor.left(), name.size())) != 0)
    return cursor.bad(400, "no HTTP/1.1 or HTTP/1.0 where the version should be");
  const char* digits = cursor.at + name.size();
  if (cursor.left() < name.size() + 1) return Scan::more;
  if (!in_set(digits[0], kDigitByte)) return cursor.bad(400, "the HTTP version is not a number");
  if (digits[0] != '1')
    return cursor.bad(
        505, fmt::format("HTTP/{} is not supported, only HTTP/1.1 and HTTP/1.0", digits[0]));
  if (cursor.left() < name.size() + 3) return Scan::more;
  if (digits[1] != '.' || !in_set(digits[2], kDigitByte))
    return cursor.bad(400, "the HTTP version is not of the form 1.1");
  if (digits[2] > '1')
    return cursor.bad(
        505, fmt::format("HTTP/1.{} is not supported, only HTTP/1.1 and HTTP/1.0", digits[2]));
  minor = static_cast<unsigned>(digits[2] - '0');
  cursor.at += name.size() + 3;
  return Scan::done;
}

Scan fields(Cursor& cursor, std::size_t limit, Head& head, Noted& noted) {
  limit = std::min(limit, kMaxFields);
  head.field_count = 0;
  head.names.clear();
  head.connection_names_fields = false;
  for (;;) {
    if (cursor.at == cursor.end) return Scan::more;
    if (*cursor.at == '\r') break;
    if (head.field_count == limit)
      return cursor.bad(431, fmt::format("more than {} headers", limit));
    Field& field = head.fields[head.field_count];
    if (const auto scan = field_line(cursor, field); scan != Scan::done) return scan;
    ++head.field_count;
    head.names.insert(field.name);
    note(field, noted, head);
  }
  return line_end(cursor);
}

Scan judge_common(Cursor& cursor, const Noted& noted, Head& head) {
  head.framing = Framing::none;
  head.content_length = 0;
  head.keep_alive = !noted.close && (head.minor_version == 1 || noted.keep_alive);
  if (noted.options > kMaxConnectionOptions)  // each one is compared with each field
    return cursor.bad(431,
                      fmt::format("more than {} options in Connection", kMaxConnectionOptions));
  if (noted.encodings > 0) {
    head.framing = Framing::chunked;
    return judge_encoding(cursor, noted, head);
  }
  if (noted.lengths > 0) {
    head.framing = Framing::length;
    return judge_length(cursor, noted, head);
  }
  return Scan::done;
}

bool connection_names(const Head& head, std::string_view option) {
  if (!head.connection_names_fields) return false;
  bool named = false;
  for (const auto& field : head.all())
    if (same_word(field.name, "connection"))
      for_each_element(field.value, [&](auto each) { named |= same_word(each, option); });
  return named;
}

}  // namespace karmad::wire
