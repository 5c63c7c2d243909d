#pragma once

#include <zlib.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/kinds/dialect_kind.hpp"
#include "balancer/core/query.hpp"

namespace karmad {

/// Unpacks one gzip body (RFC 1952), piece by piece: one or more members, and no bytes after them.
/// Any thread may run it.
class Gunzip {
 public:
  /// Highest allowed factor by which a body grows, except for the first `kFreely` bytes: repetitive
  /// JSON stays below 50, DEFLATE could reach 1032.
  static constexpr std::size_t kMostRatio = 200;
  static constexpr std::size_t kFreely = 1 << 20;
  /// Most bytes that one step reads and writes: about 0.2 ms.
  static constexpr std::size_t kStep = 64 << 10;

  /// `packed` outlives it. `most`: largest unpacked size in bytes (413 beyond).
  Gunzip(std::string_view packed, std::size_t most);
  ~Gunzip();
  Gunzip& operator=(Gunzip&&) = delete;

  /// Appends at most kStep bytes to `plain`, within its capacity. Returns what is wrong with the
  /// body, if anything; then the caller must not call it again, and `plain` is invalid.
  std::optional<ClientError> step(std::string& plain);
  bool done() const { return done_; }
  /// Bytes of `packed` that were read.
  std::size_t bytes_read() const { return passed_bytes_ - z_.avail_in; }

 private:
  std::optional<ClientError> check_step(int result, std::size_t plain_size);

  const std::string_view packed_;
  const std::size_t most_;
  std::size_t passed_bytes_ = 0;  ///< bytes of `packed_` that zlib got
  z_stream z_{};
  bool done_ = false;
};

/// Whether the request has a Content-Encoding and its body is not unpacked yet. Costs one
/// comparison of bits for a request without that field.
bool is_packed(const Query& query);

/// Unpacks the body of such a request (`gzip`, `x-gzip`), in turns of the loop and within
/// `max_packet_size`; its memory counts like that of other bodies. Then `request.body` is the plain
/// one. An answer if this fails: 415 for another encoding, 400 or 413 for an invalid or too large
/// body.
Task<std::optional<Answer>> unpack_body(Query& query);

}  // namespace karmad
