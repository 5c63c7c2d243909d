#pragma once

#include <optional>

#include "balancer/core/query.hpp"

namespace karmad {

inline constexpr std::string_view kContentEncoding = "Content-Encoding";

/// Whether the request has a Content-Encoding and its body is not unpacked yet. Costs one
/// comparison of bits for a request without that field.
bool is_packed(const Query& query);

/// Unpacks the body of such a request (`gzip`, `x-gzip`), in turns of the loop and within
/// `max_packet_size`; its memory counts like that of other bodies. Then `request.body` is the plain
/// one. An answer if this fails: 415 for another encoding, 400 or 413 for an invalid or too large
/// body.
Task<std::optional<Answer>> unpack_body(Query& query);

/// Whether the client takes an answer as gzip (RFC 9110 section 12.5.3).
bool accepts_gzip(std::string_view accept_encoding);

}  // namespace karmad
