#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/transport/descriptor.hpp"

namespace karmad {

// The format of a takeover on the unix socket: frames of a head of 16 bytes and a text of JSON. The
// descriptors of a frame travel with the first byte of its head. Both processes are on one machine,
// so numbers have its byte order.

/// The version of this format; the two processes must agree.
inline constexpr std::uint16_t kTakeoverVersion = 1;
inline constexpr std::size_t kFrameHead = 16;
inline constexpr std::size_t kMostFrameText = std::size_t{16} << 20;
inline constexpr std::size_t kMostFrameDescriptors = kMostSentAtOnce;
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

/// A frame that was received, with the descriptors that came with it.
struct Frame {
  FrameKind kind = FrameKind::hello;
  std::string text;
  std::vector<Descriptor> descriptors;
};

/// One side of a takeover's connection. Blocks, but not beyond a deadline; one thread.
class Channel {
 public:
  using Clock = std::chrono::steady_clock;

  /// `stop`: a descriptor that becomes readable when all waiting must end; -1: none.
  explicit Channel(Descriptor socket, int stop = -1) : socket_(std::move(socket)), stop_(stop) {}

  /// Connects to a unix socket. The error is the number of the system.
  static std::expected<Channel, int> connect(const std::string& path);

  /// Sends one frame; the descriptors stay open here. The error says why not.
  std::expected<void, std::string> send(FrameKind kind, std::string_view text,
                                        std::span<const int> descriptors,
                                        Clock::time_point deadline);
  /// Receives one frame of any kind.
  std::expected<Frame, std::string> receive(Clock::time_point deadline);

  /// The process at the other end (SO_PEERCRED); the one that connected, or that listens there.
  struct Peer {
    std::int64_t user = -1;  ///< -1: unknown
    int pid = 0;
  };
  Peer peer() const;

 private:
  std::expected<void, std::string> wait(short events, Clock::time_point deadline) const;
  std::expected<void, std::string> read(char* into, std::size_t size, Frame& frame,
                                        Clock::time_point deadline);

  Descriptor socket_;
  int stop_;
};

}  // namespace karmad
