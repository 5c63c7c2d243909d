#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace karmad::mysql {

// The packets of the MySQL protocol: a length of three bytes, a number, and the payload. A payload
// of 16 MiB - 1 bytes or more continues in the next packet.

inline constexpr std::size_t kPacketHeader = 4;
inline constexpr std::size_t kLongestPacket = 0xffffff;

/// What has arrived of the packets of one payload.
struct Framing {
  enum class State : std::uint8_t {
    incomplete,
    complete,
    too_large,    ///< the payload is larger than allowed
    out_of_order  ///< a packet has a wrong number
  };
  State state = State::incomplete;
  std::size_t size = 0;       ///< bytes of all its packets; incomplete: as far as known
  std::size_t packets = 0;    ///< those whose header has arrived
  std::uint8_t sequence = 0;  ///< number of the packet after them
};

/// Reads the headers of the payload at the beginning of `bytes`, whose first packet has the number
/// `sequence`. `most`: the longest payload.
Framing frame_packets(std::string_view bytes, std::uint8_t sequence, std::size_t most);

/// Removes the headers between the packets of a complete payload. Returns the payload, a view into
/// `bytes`; what follows it begins at its end.
std::string_view join_packets(std::string& bytes, const Framing& framing);

/// Reads the fields of a payload. Reading past its end gives zeros and empty texts, and `ok()` is
/// false from then on.
class Fields {
 public:
  explicit Fields(std::string_view payload) : rest_(payload) {}

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }
  /// A little-endian number of 1 to 8 bytes.
  std::uint64_t integer(std::size_t bytes);
  /// A number of variable length.
  std::uint64_t length();
  std::string_view bytes(std::uint64_t count);
  /// A text with its length before it.
  std::string_view text() { return bytes(length()); }
  /// A text that ends with a zero byte.
  std::string_view text_to_zero();

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// Bytes of a number of variable length.
constexpr std::size_t length_size(std::uint64_t value) {
  return value < 0xfb ? 1 : value <= 0xffff ? 3 : value <= 0xffffff ? 4 : 9;
}

/// Writes packets, one after the other, into a buffer.
class Writer {
 public:
  /// `out` must outlive it. `sequence`: number of the first packet.
  explicit Writer(std::string& out, std::uint8_t sequence = 0) : out_(out), sequence_(sequence) {}

  /// Begins a payload. One of `size` bytes ends with its last byte, without end(). The buffer may
  /// be emptied at any time then, so a long payload need not be there as a whole.
  void begin(std::optional<std::size_t> size = {});
  /// Ends the payload.
  void end() { write_header(kLongestPacket - room_); }
  void integer(std::uint64_t value, std::size_t bytes);
  void length(std::uint64_t value);
  void bytes(std::string_view text);
  /// A text with its length before it.
  void text(std::string_view text);
  void text_and_zero(std::string_view text);
  void zeros(std::size_t count);

  std::string& out() { return out_; }
  /// Number of the next packet.
  std::uint8_t sequence() const { return sequence_; }

 private:
  void begin_packet();
  void write_header(std::size_t size);

  std::string& out_;
  std::uint8_t sequence_;
  std::optional<std::size_t> left_;    ///< size of the further packets; nothing: not known
  std::size_t began_ = 0;              ///< place of the packet's header
  std::size_t room_ = kLongestPacket;  ///< bytes until the packet is full
};

}  // namespace karmad::mysql
