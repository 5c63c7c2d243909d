#include "balancer/mysql/messages.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace karmad::mysql {
namespace {

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

}  // namespace

Framing frame_packets(std::string_view bytes, std::uint8_t sequence, std::size_t most) {
  Framing framing{.sequence = sequence};
  const auto ended = [&](Framing::State state) {
    framing.state = state;
    return framing;
  };
  std::size_t payload = 0;
  for (;;) {
    if (bytes.size() < framing.size + kPacketHeader) {
      framing.size += kPacketHeader;
      return framing;
    }
    const auto header = bytes.substr(framing.size, kPacketHeader);
    const auto length = static_cast<std::size_t>(little_endian(header.substr(0, 3)));
    if (static_cast<std::uint8_t>(header[3]) != framing.sequence)
      return ended(Framing::State::out_of_order);
    ++framing.packets;
    ++framing.sequence;
    payload += length;
    framing.size += kPacketHeader + length;
    if (payload > most) return ended(Framing::State::too_large);
    if (bytes.size() < framing.size) return framing;
    if (length < kLongestPacket) return ended(Framing::State::complete);
  }
}

std::string_view join_packets(std::string& bytes, const Framing& framing) {
  const auto payload = framing.size - framing.packets * kPacketHeader;
  if (framing.packets == 1) return std::string_view(bytes).substr(kPacketHeader, payload);
  auto to = kPacketHeader + kLongestPacket;
  for (auto from = to; from < framing.size; from += kLongestPacket) {
    from += kPacketHeader;
    const auto size = std::min(kLongestPacket, framing.size - from);
    std::memmove(bytes.data() + to, bytes.data() + from, size);
    to += size;
  }
  bytes.erase(to, framing.size - to);
  return std::string_view(bytes).substr(kPacketHeader, payload);
}

std::string_view Fields::bytes(std::uint64_t count) {
  if (count > rest_.size()) {
    ok_ = false;
    rest_ = {};
    return {};
  }
  const auto taken = rest_.substr(0, static_cast<std::size_t>(count));
  rest_.remove_prefix(taken.size());
  return taken;
}

std::uint64_t Fields::integer(std::size_t count) {
  return little_endian(bytes(count));
}

std::uint64_t Fields::length() {
  const auto first = integer(1);
  if (first < 0xfb) return first;
  if (first == 0xfc) return integer(2);
  if (first == 0xfd) return integer(3);
  if (first == 0xfe) return integer(8);
  ok_ = false;  // 0xfb is NULL, 0xff an error
  return 0;
}

std::string_view Fields::text_to_zero() {
  const auto end = rest_.find('\0');
  if (end == rest_.npos) return bytes(std::uint64_t{rest_.size()} + 1);
  const auto text = bytes(end);
  bytes(1);
  return text;
}

void Writer::begin(std::optional<std::size_t> size) {
  left_ = size;
  begin_packet();
}

void Writer::begin_packet() {
  began_ = out_.size();
  room_ = kLongestPacket;
  out_.append(kPacketHeader, '\0');
  if (!left_) return;
  const auto size = std::min(*left_, kLongestPacket);
  *left_ -= size;
  write_header(size);
}

void Writer::write_header(std::size_t size) {
  auto* const at = out_.data() + began_;
  for (std::size_t i = 0; i < 3; ++i) at[i] = static_cast<char>(size >> (8 * i));
  at[3] = static_cast<char>(sequence_++);
}

void Writer::bytes(std::string_view text) {
  while (text.size() >= room_) {
    out_.append(text.substr(0, room_));
    text.remove_prefix(room_);
    if (!left_) write_header(kLongestPacket);
    begin_packet();
  }
  out_.append(text);
  room_ -= text.size();
}

void Writer::integer(std::uint64_t value, std::size_t count) {
  std::array<char, sizeof value> little;
  for (std::size_t i = 0; i < count; ++i) little[i] = static_cast<char>(value >> (8 * i));
  bytes({little.data(), count});
}

void Writer::length(std::uint64_t value) {
  const auto size = length_size(value);
  if (size == 1) return integer(value, 1);
  integer(size == 3 ? 0xfc : size == 4 ? 0xfd : 0xfe, 1);
  integer(value, size - 1);
}

void Writer::text(std::string_view text) {
  length(text.size());
  bytes(text);
}

void Writer::text_and_zero(std::string_view text) {
  bytes(text);
  zeros(1);
}

void Writer::zeros(std::size_t count) {
  for (; count > 0; --count) bytes({"", 1});
}

}  // namespace karmad::mysql
