#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/transport/http/http_head.hpp"

namespace karmad {

// Heads are written field by field; no received head is copied as a whole. Every function appends,
// so a reused buffer soon needs no allocation. The caller guarantees valid names and values (those
// of a parsed head are); assertions check it.

/// A field whose value is a number.
struct NumberField {
  std::string_view name;
  std::uint64_t value = 0;
};

/// A request to an agent. A field in `numbers` or `extra` replaces those of the same name in
/// `passed_on`.
struct RequestToWrite {
  std::string_view method = "POST";
  std::string_view target = "/";
  std::string_view host;                        ///< value of Host, host:port
  std::string_view content_type;                ///< empty: none, or that of `passed_on`
  std::optional<std::uint64_t> content_length;  ///< empty: no body
  std::span<const NumberField> numbers;         ///< before `extra`
  std::span<const Field> extra;
  const Head* passed_on = nullptr;  ///< head whose end-to-end fields are passed on
  std::string_view withheld{};      ///< name of a field of `passed_on` that is not passed on
};

/// An answer to a client, up to and including the empty line.
struct ResponseToWrite {
  int status = 200;
  std::string_view content_type;                ///< empty: none, or that of `passed_on`
  std::optional<std::uint64_t> content_length;  ///< empty for 1xx, 204, and 304
  bool keep_alive = true;
  unsigned client_minor_version = 1;  ///< an HTTP/1.0 client is informed of a kept connection
  std::span<const NumberField> numbers;
  std::span<const Field> extra;
  const Head* passed_on = nullptr;
  bool drops_cors = false;     ///< the fields `Access-Control-…` of `passed_on` stay behind
  bool drops_digests = false;  ///< likewise those about the bytes of its body, which are others
  std::string_view withheld{};
};

void write_request_head(std::string& out, const RequestToWrite& request);
void write_response_head(std::string& out, const ResponseToWrite& response);

/// Appends the fields of `from` that may travel on: neither hop-by-hop, Host nor the read
/// preference.
void copy_end_to_end(const Head& from, std::string& out);

void append_field(std::string& out, std::string_view name, std::string_view value);

inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
/// Makes a chunk of a part of a body (RFC 9112 section 7.1); nothing of an empty one, which would
/// be the last.
void make_chunk(std::string& body);

/// The phrase of RFC 9110 for a status, or "Unknown".
std::string_view reason_phrase(int status);

}  // namespace karmad
