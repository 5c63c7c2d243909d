#include <fmt/format.h>

#include <algorithm>

#include "agent/transport/http/http_head.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

using namespace wire;

namespace {

constexpr unsigned kMaxDigits = 16;  // so that 64 bits cannot overflow
constexpr std::size_t kMaxExtension = 256;
constexpr std::size_t kMaxExtensions = 16 << 10;
constexpr std::size_t kMaxTrailer = 8 << 10;
constexpr std::size_t kMaxTrailers = 64;

HeadError unexpected_byte(char c, std::string_view place) {
  return {400, fmt::format("byte 0x{:02x} {}", static_cast<unsigned char>(c), place)};
}

unsigned hex_value(char c) {
  return static_cast<unsigned>(c <= '9' ? c - '0' : lower(c) - 'a' + 10);
}

}  // namespace

std::optional<HeadError> ChunkedBody::size_complete() {
  if (chunk_ > content_left_)
    return HeadError{413, "the body in chunks is larger than max_packet_size"};
  content_left_ -= static_cast<std::size_t>(chunk_);
  at_ = chunk_ == 0 ? At::trailer_begin : At::content;
  digits_ = 0;
  extension_ = 0;
  return {};
}

/// Handles a byte of a line `size [; extensions] CRLF`.
std::optional<HeadError> ChunkedBody::step_size(char c) {
  if (at_ == At::size_lf)
    return c == '\n' ? size_complete() : unexpected_byte(c, "after the CR of a chunk's size");
  if (in_set(c, kHexByte) && (at_ == At::size_begin || at_ == At::size)) {
    if (++digits_ > kMaxDigits) return HeadError{400, "a chunk's size of more than 16 digits"};
    chunk_ = (at_ == At::size ? chunk_ << 4 : 0) | hex_value(c);
    at_ = At::size;
    return {};
  }
  if (at_ == At::size_begin) return unexpected_byte(c, "where a chunk's size should be");
  const bool may_end = at_ == At::size || at_ == At::extension_name || at_ == At::extension_value ||
                       at_ == At::extension_quoted_end;
  if (c == '\r' && may_end) {
    at_ = At::size_lf;
    return {};
  }
  const auto next = after_extension_byte(at_, c);
  if (!next) return unexpected_byte(c, "in a chunk's size or extension");
  at_ = *next;
  if (++extension_ > kMaxExtension || ++extensions_ > kMaxExtensions)
    return HeadError{400, "chunk extensions are too long"};
  return {};
}

/// RFC 9112 section 7.1.1: *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] ).
std::optional<ChunkedBody::At> ChunkedBody::after_extension_byte(At at, char c) {
  switch (at) {
    case At::size:
    case At::size_blank:
    case At::extension_value_blank:
      if (c == ';') return At::extension_begin;
      if (is_blank(c)) return at == At::size ? At::size_blank : at;
      return std::nullopt;
    case At::extension_begin:
      if (is_blank(c)) return at;
      return in_set(c, kTokenByte) ? std::optional(At::extension_name) : std::nullopt;
    case At::extension_name:
    case At::extension_name_blank:
      if (c == ';') return At::extension_begin;
      if (c == '=') return At::extension_value_begin;
      if (is_blank(c)) return At::extension_name_blank;
      return at == At::extension_name && in_set(c, kTokenByte) ? std::optional(at) : std::nullopt;
    case At::extension_value_begin:
      if (is_blank(c)) return at;
      if (c == '"') return At::extension_quoted;
      return in_set(c, kTokenByte) ? std::optional(At::extension_value) : std::nullopt;
    case At::extension_value:
    case At::extension_quoted_end:
      if (c == ';') return At::extension_begin;
      if (is_blank(c)) return At::extension_value_blank;
      return at == At::extension_value && in_set(c, kTokenByte) ? std::optional(at) : std::nullopt;
    case At::extension_quoted:
      if (c == '"') return At::extension_quoted_end;
      if (c == '\\') return At::extension_escape;
      return in_set(c, kValueByte) ? std::optional(at) : std::nullopt;
    case At::extension_escape:
      return in_set(c, kValueByte) ? std::optional(At::extension_quoted) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Handles a byte of the trailer; its fields are checked and dropped.
std::optional<HeadError> ChunkedBody::step_trailer(char c) {
  if (at_ == At::last_lf || at_ == At::trailer_lf) {
    if (c != '\n') return unexpected_byte(c, "after a CR in the trailer");
    at_ = at_ == At::last_lf ? At::done : At::trailer_begin;
    return {};
  }
  if (++trailer_ > kMaxTrailer) return HeadError{431, "the trailer is too large"};
  if (at_ == At::trailer_value) {
    if (c != '\r' && !in_set(c, kValueByte)) return unexpected_byte(c, "in the trailer");
    if (c == '\r') at_ = At::trailer_lf;
    return {};
  }
  if (at_ == At::trailer_begin && c == '\r') {
    at_ = At::last_lf;
    return {};
  }
  if (at_ == At::trailer_begin && ++trailers_ > kMaxTrailers)
    return HeadError{431, "too many fields in the trailer"};
  if (at_ == At::trailer_name && c == ':') {
    at_ = At::trailer_value;
    return {};
  }
  if (!in_set(c, kTokenByte)) return unexpected_byte(c, "in the name of a trailer field");
  at_ = At::trailer_name;
  return {};
}

std::optional<HeadError> ChunkedBody::step(char c) {
  if (at_ >= At::trailer_begin) return step_trailer(c);
  if (at_ < At::content) return step_size(c);
  if (c != (at_ == At::content_cr ? '\r' : '\n'))
    return unexpected_byte(c, "where a chunk's CRLF should be");
  at_ = at_ == At::content_cr ? At::content_lf : At::size_begin;
  return {};
}

std::expected<std::size_t, HeadError> ChunkedBody::put(std::string_view bytes, std::string& out) {
  std::size_t used = 0;
  while (used < bytes.size() && at_ != At::done) {
    if (at_ == At::content) {
      const auto content = bytes.substr(
          used, static_cast<std::size_t>(std::min<std::uint64_t>(chunk_, bytes.size())));
      out.append(content);
      used += content.size();
      chunk_ -= content.size();
      if (chunk_ == 0) at_ = At::content_cr;
    } else if (auto error = step(bytes[used++])) {
      return std::unexpected(std::move(*error));
    }
  }
  return used;
}

}  // namespace karmad
