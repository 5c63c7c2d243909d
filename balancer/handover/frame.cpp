#include "balancer/handover/frame.hpp"

#include <fmt/format.h>

#include <cstring>

namespace karmad {
namespace {

constexpr std::uint32_t kFrameMark = 0x4f544d4b;  // KMTO

struct RawHead {
  std::uint32_t mark;
  std::uint16_t version;
  std::uint16_t kind;
  std::uint32_t text;
  std::uint32_t descriptors;
};
static_assert(sizeof(RawHead) == kFrameHead);

}  // namespace

std::array<char, kFrameHead> encode(const FrameHead& head) {
  const RawHead raw{kFrameMark, kTakeoverVersion, static_cast<std::uint16_t>(head.kind), head.text,
                    head.descriptors};
  std::array<char, kFrameHead> bytes;
  std::memcpy(bytes.data(), &raw, sizeof raw);
  return bytes;
}

std::expected<FrameHead, std::string> decode_head(std::string_view bytes) {
  RawHead raw{};
  if (bytes.size() != sizeof raw) return std::unexpected("a frame is too short");
  std::memcpy(&raw, bytes.data(), sizeof raw);
  if (raw.mark != kFrameMark) return std::unexpected("the other side is no karmad");
  if (raw.version != kTakeoverVersion)
    return std::unexpected(fmt::format("the other side speaks version {} of the takeover, not {}",
                                       raw.version, kTakeoverVersion));
  if (raw.kind < static_cast<std::uint16_t>(FrameKind::hello) ||
      raw.kind > static_cast<std::uint16_t>(FrameKind::refused))
    return std::unexpected(fmt::format("a frame of unknown kind {}", raw.kind));
  if (raw.text > kMostFrameText)
    return std::unexpected(
        fmt::format("a frame of {} bytes; at most {} are read", raw.text, kMostFrameText));
  if (raw.descriptors > kMostFrameDescriptors)
    return std::unexpected(fmt::format("a frame with {} descriptors; at most {} are taken",
                                       raw.descriptors, kMostFrameDescriptors));
  return FrameHead{static_cast<FrameKind>(raw.kind), raw.text, raw.descriptors};
}

}  // namespace karmad
