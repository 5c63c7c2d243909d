#include "balancer/mysql/packets.hpp"

#include <algorithm>
#include <cstring>

namespace karmad {
namespace {

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

void set_packet_header(char* at, std::size_t size, std::uint8_t sequence) {
  for (std::size_t i = 0; i < 3; ++i) at[i] = static_cast<char>(size >> (8 * i));
  at[3] = static_cast<char>(sequence);
}

}  // namespace

MysqlFraming frame_mysql(std::string_view bytes, std::uint8_t sequence, std::size_t most) {
  MysqlFraming framing{.sequence = sequence};
  std::size_t payload = 0;
  for (;;) {
    if (bytes.size() < framing.size + kMysqlHeader) {
      framing.size += kMysqlHeader;
      return framing;
    }
    const auto header = bytes.substr(framing.size, kMysqlHeader);
    const auto length = static_cast<std::size_t>(little_endian(header.substr(0, 3)));
    if (static_cast<std::uint8_t>(header[3]) != framing.sequence) {
      framing.state = MysqlFraming::State::out_of_order;
      return framing;
    }
    ++framing.packets;
    ++framing.sequence;
    payload += length;
    framing.size += kMysqlHeader + length;
    if (payload > most) {
      framing.state = MysqlFraming::State::too_large;
      return framing;
    }
    if (bytes.size() < framing.size) return framing;
    if (length < kMysqlLongest) {
      framing.state = MysqlFraming::State::complete;
      return framing;
    }
  }
}

std::string_view join_mysql(std::string& bytes, const MysqlFraming& framing) {
  const auto payload = framing.size - framing.packets * kMysqlHeader;
  if (framing.packets == 1) return std::string_view(bytes).substr(kMysqlHeader, payload);
  auto to = kMysqlHeader + kMysqlLongest;
  for (auto from = to; from < framing.size; from += kMysqlLongest) {
    from += kMysqlHeader;
    const auto size = std::min(kMysqlLongest, framing.size - from);
    std::memmove(bytes.data() + to, bytes.data() + from, size);
    to += size;
  }
  bytes.erase(to, framing.size - to);
  return std::string_view(bytes).substr(kMysqlHeader, payload);
}

std::string_view MysqlFields::bytes(std::uint64_t count) {
  if (count > rest_.size()) {
    ok_ = false;
    rest_ = {};
    return {};
  }
  const auto taken = rest_.substr(0, static_cast<std::size_t>(count));
  rest_.remove_prefix(taken.size());
  return taken;
}

std::uint64_t MysqlFields::integer(std::size_t count) {
  return little_endian(bytes(count));
}

std::uint64_t MysqlFields::length() {
  const auto first = integer(1);
  if (first < 0xfb) return first;
  if (first == 0xfc) return integer(2);
  if (first == 0xfd) return integer(3);
  if (first == 0xfe) return integer(8);
  ok_ = false;  // 0xfb is NULL, 0xff an error
  return 0;
}

std::string_view MysqlFields::text_to_zero() {
  const auto end = rest_.find('\0');
  if (end == rest_.npos) return bytes(std::uint64_t{rest_.size()} + 1);
  const auto text = bytes(end);
  bytes(1);
  return text;
}

void MysqlWriter::begin() {
  began_ = out_.size();
  out_.append(kMysqlHeader, '\0');
}

void MysqlWriter::end() {
  const auto size = out_.size() - began_ - kMysqlHeader;
  const auto further = size / kMysqlLongest;  // packets behind the first
  if (further != 0) out_.append(further * kMysqlHeader, '\0');
  auto* const first = out_.data() + began_;
  auto* const payload = first + kMysqlHeader;
  // The last packet moves farthest, so each byte is moved once.
  for (auto packet = further; packet > 0; --packet) {
    const auto from = packet * kMysqlLongest;
    std::memmove(payload + from + packet * kMysqlHeader, payload + from,
                 std::min(kMysqlLongest, size - from));
  }
  for (std::size_t packet = 0; packet <= further; ++packet)
    set_packet_header(first + packet * (kMysqlHeader + kMysqlLongest),
                      std::min(kMysqlLongest, size - packet * kMysqlLongest), sequence_++);
}

void MysqlWriter::integer(std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out_ += static_cast<char>(value >> (8 * i));
}

void MysqlWriter::length(std::uint64_t value) {
  if (value < 0xfb) return integer(value, 1);
  const std::size_t bytes = value <= 0xffff ? 2 : value <= 0xffffff ? 3 : 8;
  integer(bytes == 2 ? 0xfc : bytes == 3 ? 0xfd : 0xfe, 1);
  integer(value, bytes);
}

void MysqlWriter::text(std::string_view text) {
  length(text.size());
  out_.append(text);
}

void MysqlWriter::text_and_zero(std::string_view text) {
  out_.append(text);
  out_ += '\0';
}

std::size_t MysqlWriter::zeros(std::size_t count) {
  out_.append(count, '\0');
  return out_.size() - count;
}

}  // namespace karmad
