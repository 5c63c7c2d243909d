#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/http_head.hpp"
#include "config/settings/settings.hpp"
#include "strategies/random_source.hpp"

namespace karmad {

// What identifies a request in the logs of several programs: its X-Request-Id, and the trace of
// W3C Trace Context.

/// Whether a client may choose this id: 1 to 128 bytes of visible ASCII without quotes and
/// backslash, which every log can write as they are.
bool is_valid_request_id(std::string_view id);

/// An id that is not 0, with the same probability for each.
inline std::uint64_t random_id(RandomSource& random) {
  return random.below(~std::size_t{0}) + 1;
}

/// 16 hexadecimal digits.
std::array<char, 16> hex_digits(std::uint64_t id);

/// The id of a request, empty or at most 128 bytes. Allocates nothing.
class RequestId {
 public:
  static constexpr std::size_t kLongest = 128;

  RequestId() = default;  // NOLINT: only `size_` bytes are read
  /// A valid id; longer ones are cut.
  explicit RequestId(std::string_view id)
      : size_(static_cast<std::uint8_t>(id.copy(bytes_.data(), kLongest))) {}
  explicit RequestId(std::uint64_t id) : RequestId(view(hex_digits(id))) {}

  bool empty() const { return size_ == 0; }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  static std::string_view view(const std::array<char, 16>& digits) {
    return {digits.data(), digits.size()};
  }
  std::array<char, kLongest> bytes_;
  std::uint8_t size_ = 0;
};

/// The id of a request: the one that its client wants if that is valid, else a new one or none.
RequestId request_id(std::string_view wanted, RequestIds setting, RandomSource& random);

/// The trace that a request belongs to. The views live as long as its head.
struct TraceContext {
  std::string_view trace_id;  ///< 32 hexadecimal digits; empty: the request has no valid trace
  std::string_view flags;     ///< two of them
  std::string state;          ///< value of `tracestate`, from all its fields

  bool empty() const { return trace_id.empty(); }
};

/// Reads a value of `traceparent`; empty if it is not valid. Of a version that is not known, only
/// the flag "sampled" is kept.
TraceContext parse_traceparent(std::string_view value);

/// The trace of a request from its fields. Several fields `traceparent` are not valid.
TraceContext read_trace_context(const Head& head);

/// The trace of a request; costs a few instructions if it has no such field.
inline TraceContext trace_context(const Head& head) {
  return head.names.may_have(kTraceparent) ? read_trace_context(head) : TraceContext();
}

/// A value of `traceparent`.
using Traceparent = std::array<char, 55>;
/// The value that continues a trace, which must not be empty, in the span `span`.
Traceparent traceparent(const TraceContext& context, std::uint64_t span);

}  // namespace karmad
