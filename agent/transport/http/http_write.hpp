#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/transport/http/http_head.hpp"

namespace karmad {

// Heads are written anew, field by field; nothing received is copied as it lies. Every function
// appends, so a buffer that is kept stops allocating. That names and values are clean is the
// caller's promise (those of a parsed head are), and an assertion.

/// A request to an agent. `extra` replaces fields of the same name in `passed_on`.
struct RequestToWrite {
  std::string_view method = "POST";
  std::string_view target = "/";
  std::string_view host;                        ///< host:port, as it shall stand in Host
  std::string_view content_type;                ///< empty: none, or that of `passed_on`
  std::optional<std::uint64_t> content_length;  ///< empty: no body
  std::span<const Field> extra;
  const Head* passed_on = nullptr;  ///< its end-to-end fields travel along
};

/// An answer to a client. Ends with the empty line, as all heads do.
struct ResponseToWrite {
  int status = 200;
  std::string_view content_type;                ///< empty: none, or that of `passed_on`
  std::optional<std::uint64_t> content_length;  ///< empty for 1xx, 204, and 304
  bool keep_alive = true;
  unsigned client_minor_version = 1;  ///< 1.0 must be told that the connection stays
  std::span<const Field> extra;
  const Head* passed_on = nullptr;
};

void write_request_head(std::string& out, const RequestToWrite& request);
void write_response_head(std::string& out, const ResponseToWrite& response);

/// Appends the fields of `from` that may travel on: neither hop-by-hop, Host nor the read
/// preference, and not those named in `skip` or `replaced`.
void copy_end_to_end(const Head& from, std::string& out,
                     std::span<const std::string_view> skip = {},
                     std::span<const Field> replaced = {});

void append_field(std::string& out, std::string_view name, std::string_view value);
void append_number(std::string& out, std::uint64_t number);

/// The phrase of RFC 9110 for a status, or "Unknown".
std::string_view reason_phrase(int status);

}  // namespace karmad
