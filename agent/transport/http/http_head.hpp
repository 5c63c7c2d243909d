#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace karmad {

/// One header field; both parts are views into the bytes the head was parsed from.
struct Field {
  std::string_view name;
  std::string_view value;
};

inline constexpr std::size_t kMaxFields = 128;

/// A set of field names that quickly detects most missing names.
class NameSet {
 public:
  void clear() { bits_ = 0; }
  void insert(std::string_view name) { bits_ |= bit(name); }
  /// False: certainly not in the set.
  bool may_have(std::string_view name) const { return (bits_ & bit(name)) != 0; }

 private:
  static constexpr std::uint64_t bit(std::string_view name) {
    // The first byte is often the same: `X-…`, `Content-…`.
    const auto last = name.empty() ? 0U : static_cast<unsigned char>(name.back()) | 0x20U;
    return std::uint64_t{1} << ((name.size() * 5 + last) % 64);
  }
  std::uint64_t bits_ = 0;
};

/// How the end of a message's body is determined.
enum class Framing : std::uint8_t { none, length, chunked, until_close };

/// What both kinds of head say, but for the fields themselves.
struct HeadFacts {
  unsigned minor_version = 1;  ///< HTTP/1.0 or HTTP/1.1
  std::size_t field_count = 0;
  NameSet names;         ///< of the fields
  std::size_t size = 0;  ///< bytes of the head, with its empty line and leading empty lines
  Framing framing = Framing::none;
  std::uint64_t content_length = 0;  ///< value of Content-Length, also if no body follows
  bool keep_alive = true;
  bool connection_names_fields = false;  ///< Connection says more than `close` and `keep-alive`
};

/// The parts both kinds of head share. Views live as long as the bytes.
struct Head : HeadFacts {
  std::array<Field, kMaxFields> fields;  ///< behind all else: mostly only the first few are touched

  std::span<const Field> all() const { return {fields.data(), field_count}; }
  /// Value of the first field of that name (case-insensitive), or empty.
  [[gnu::always_inline]] std::string_view find(std::string_view name) const {  // cheap if constant
    return names.may_have(name) ? look_for(name) : std::string_view();
  }
  /// Whether there are several fields of that name: readers may differ in which one counts.
  bool repeats(std::string_view name) const;

 private:
  std::string_view look_for(std::string_view name) const;
};

struct RequestLine {
  std::string_view method;
  std::string_view target;       ///< as received
  std::string_view path;         ///< of the target, without scheme, host and query; never empty
  std::string_view query;        ///< after `?`
  bool expect_continue = false;  ///< the client waits for 100 before sending the body
};
struct RequestHead : RequestLine, Head {};

struct StatusLine {
  int status = 0;
  std::string_view reason;
};
struct ResponseHead : StatusLine, Head {};

struct HeadLimits {
  std::size_t size = 16 << 10;
  std::size_t fields = 100;  ///< at most kMaxFields
};

/// Why a message is refused: an HTTP status and a reason. The start of the next message is then
/// unknown, so the connection must be closed.
struct HeadError {
  int status = 400;  ///< to a client: 400, 413, 414, 417, 431, 501, 505; for an agent's head: 502
  std::string reason;
};

enum class HeadState : std::uint8_t { complete, incomplete };

/// Parses the request head at the beginning of `bytes`, strictly by RFC 9112;
/// docs/decisions/002-http-heads.md lists what is refused. `incomplete`: call again with these and
/// more bytes. A syntax error is found at its first byte, the fields are checked when the head is
/// complete. `head` is valid only if `complete`. Allocates only for errors; 0.5 to 1 ns per byte,
/// always from the start.
std::expected<HeadState, HeadError> parse_request_head(std::string_view bytes,
                                                       const HeadLimits& limits, RequestHead& head);

/// The same for an agent's answer. `to_head`: the request was a HEAD, so there is no body. Returns
/// 1xx heads too (framing none), which the caller skips. Every error is a 502.
std::expected<HeadState, HeadError> parse_response_head(std::string_view bytes,
                                                        const HeadLimits& limits, bool to_head,
                                                        ResponseHead& head);

/// True for a field that must not be forwarded: hop-by-hop (RFC 9110 section 7.6.1), framing,
/// Expect, and the fields named in Connection.
bool is_hop_by_hop(const Head& head, std::string_view name);

/// Decodes a chunked body as its bytes arrive, by the grammar of RFC 9112 section 7.1. Extensions
/// and trailers are checked and dropped.
class ChunkedBody {
 public:
  /// At most `body_limit` bytes of content; extensions and trailers have fixed limits.
  explicit ChunkedBody(std::size_t body_limit) : content_left_(body_limit) {}

  /// Reads `bytes` and appends content to `out`. Returns how many bytes it read; `done()` says
  /// whether the body and its trailer are complete. Must not be called after an error.
  std::expected<std::size_t, HeadError> put(std::string_view bytes, std::string& out);
  bool done() const { return at_ == At::done; }
  /// The content may be of any length from now on, because it is not kept.
  void remove_limit() { content_left_ = std::numeric_limits<std::size_t>::max(); }

 private:
  enum class At : std::uint8_t {
    size_begin,
    size,
    size_blank,  // between the size and the `;` of an extension
    extension_begin,
    extension_name,
    extension_name_blank,
    extension_value_begin,
    extension_value,
    extension_quoted,
    extension_escape,
    extension_quoted_end,
    extension_value_blank,
    size_lf,
    content,
    content_cr,
    content_lf,
    trailer_begin,
    trailer_name,
    trailer_value,
    trailer_lf,
    last_lf,
    done,
  };

  std::optional<HeadError> step(char c);
  std::optional<HeadError> step_size(char c);
  static std::optional<At> after_extension_byte(At at, char c);
  std::optional<HeadError> step_trailer(char c);
  std::optional<HeadError> size_complete();

  At at_ = At::size_begin;
  unsigned digits_ = 0;
  std::uint64_t chunk_ = 0;  // size of the chunk, then the rest of it
  std::size_t content_left_;
  std::size_t extension_ = 0;   // bytes of this chunk's extension
  std::size_t extensions_ = 0;  // of all chunks
  std::size_t trailer_ = 0;
  std::size_t trailers_ = 0;  // fields
};

}  // namespace karmad
