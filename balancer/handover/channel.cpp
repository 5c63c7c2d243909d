#include "balancer/handover/channel.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

std::unexpected<std::string> system_failure(const char* what) {
  return std::unexpected(fmt::format("{}: {}", what, std::strerror(errno)));
}

/// Takes the descriptors out of a message, whatever their number.
void take_descriptors(msghdr& message, std::vector<Descriptor>& into) {
  for (auto* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const auto count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      into.emplace_back(fd);
    }
  }
}

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

std::expected<Channel, int> Channel::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::unexpected(ENAMETOOLONG);
  path.copy(address.sun_path, path.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // A full queue of connections is EAGAIN: other takeovers wait there.
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return std::unexpected(errno);
  return Channel(std::move(socket));
}

Channel::Peer Channel::peer() const {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return {peer.uid, peer.pid};
}

std::expected<void, std::string> Channel::wait(short events, Clock::time_point deadline) const {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return std::unexpected("the other side did not answer in time");
    pollfd waits[2] = {{socket_.get(), events, 0}, {stop_, POLLIN, 0}};
    const auto count = ::poll(waits, 2, static_cast<int>(std::min<long>(left, 1'000'000)));
    if (count < 0 && errno != EINTR) return system_failure("poll");
    if (count > 0 && waits[1].revents != 0) return std::unexpected("this process stops");
    if (count > 0 && waits[0].revents != 0) return {};
  }
}

std::expected<void, std::string> Channel::send(FrameKind kind, std::string_view text,
                                               std::span<const int> descriptors,
                                               Clock::time_point deadline) {
  if (text.size() > kMostFrameText || descriptors.size() > kMostFrameDescriptors)
    return std::unexpected("a frame would be too large");
  const auto head = encode({kind, static_cast<std::uint32_t>(text.size()),
                            static_cast<std::uint32_t>(descriptors.size())});
  std::string bytes(head.begin(), head.end());
  bytes += text;
  for (std::size_t sent = 0; sent < bytes.size();) {
    if (auto ready = wait(POLLOUT, deadline); !ready) return ready;
    const auto count = send_with(socket_.get(), std::string_view(bytes).substr(sent),
                                 sent == 0 ? descriptors : std::span<const int>());
    if (count < 0 && errno != EAGAIN && errno != EINTR) return system_failure("send");
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  return {};
}

/// Reads exactly `size` bytes, and every descriptor that comes with them.
std::expected<void, std::string> Channel::read(char* into, std::size_t size, Frame& frame,
                                               Clock::time_point deadline) {
  for (std::size_t got = 0; got < size;) {
    if (auto ready = wait(POLLIN, deadline); !ready) return ready;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostFrameDescriptors)> control{};
    iovec piece{into + got, size - got};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const auto count = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count > 0) take_descriptors(message, frame.descriptors);
    if (count > 0 && (message.msg_flags & MSG_CTRUNC) != 0)
      return std::unexpected("not all descriptors arrived: too many are open");
    if (count == 0) return std::unexpected("the other side ended the connection");
    if (count < 0 && errno != EAGAIN && errno != EINTR) return system_failure("receive");
    if (count > 0) got += static_cast<std::size_t>(count);
  }
  return {};
}

std::expected<Frame, std::string> Channel::receive(Clock::time_point deadline) {
  Frame frame;
  std::array<char, kFrameHead> bytes;
  if (auto read_head = read(bytes.data(), bytes.size(), frame, deadline); !read_head)
    return std::unexpected(std::move(read_head).error());
  auto head = decode_head({bytes.data(), bytes.size()});
  if (!head) return std::unexpected(std::move(head).error());
  frame.kind = head->kind;
  frame.text.resize(head->text);
  if (auto read_text = read(frame.text.data(), frame.text.size(), frame, deadline); !read_text)
    return std::unexpected(std::move(read_text).error());
  if (frame.descriptors.size() != head->descriptors)
    return std::unexpected(fmt::format("a frame came with {} descriptors, not {}",
                                       frame.descriptors.size(), head->descriptors));
  return frame;
}

}  // namespace karmad
