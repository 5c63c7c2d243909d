#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace karmad {

// The format of a takeover on the unix socket: frames of a head of 16 bytes and a text of JSON. The
// descriptors of a frame travel with the first byte of its head. Both processes are on one machine,
// so numbers have its byte order.

/// The version of this format; the two processes must agree.
inline constexpr std::uint16_t kTakeoverVersion = 1;
inline constexpr std::size_t kFrameHead = 16;
inline constexpr std::size_t kMostFrameText = std::size_t{16} << 20;
inline constexpr std::size_t kMostFrameDescriptors = 200;  // the kernel passes at most 253 at once
/// Of all frames of a takeover.
inline constexpr std::size_t kMostDescriptors = 8192;

enum class FrameKind : std::uint16_t {
  hello = 1,  ///< from the successor: it asks for everything
  sockets,    ///< listening sockets, and their addresses; as many frames as needed
  learned,    ///< what was learned; the last frame of the offer
  ready,      ///< from the successor: it accepts connections
  released,   ///< the former process accepts none any more; what the operator changed last
  refused,    ///< no takeover, and why
};

struct FrameHead {
  FrameKind kind = FrameKind::hello;
  std::uint32_t text = 0;         ///< size of the text in bytes
  std::uint32_t descriptors = 0;  ///< their number
  bool operator==(const FrameHead&) const = default;
};

std::array<char, kFrameHead> encode(const FrameHead& head);
/// The error says what is wrong: another format, another version, or a number beyond its bound.
std::expected<FrameHead, std::string> decode_head(std::string_view bytes);

}  // namespace karmad
