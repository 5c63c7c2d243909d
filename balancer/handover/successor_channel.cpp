#include "balancer/handover/successor_channel.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr auto kOffered = 10s;  // another takeover may be in progress
constexpr auto kReleased = 10s;
constexpr auto kEnding = 2s;  // a process that was killed closes its descriptors one by one

bool is_absent(int error) {
  return error == ENOENT || error == ECONNREFUSED;
}

}  // namespace

std::expected<std::optional<SuccessorChannel>, std::string> SuccessorChannel::begin(
    const std::string& path) {
  auto channel = Channel::connect(path);
  if (!channel) {
    const int error = channel.error();
    if (is_absent(error)) return std::nullopt;
    return std::unexpected(fmt::format("cannot connect to {}: {}", path, std::strerror(error)));
  }
  SuccessorChannel successor(*std::move(channel), path);
  const auto peer = successor.channel_.peer();
  if (peer.user != static_cast<std::int64_t>(::geteuid()))
    return std::unexpected(
        fmt::format("the process at {} is of user {}, not {}", path, peer.user, ::geteuid()));
  successor.former_pid_ = peer.pid;
  if (auto offered = successor.receive_offer(); !offered) {
    if (!successor.former_has_ended())
      return std::unexpected(fmt::format("process {} at {}: {}", peer.pid, path, offered.error()));
    successor.ended_ = std::move(offered).error();
  }
  return successor;
}

/// Whether no process listens at the takeover socket any more. A process that is ending closes a
/// connection to it; one that goes on answers or keeps it.
bool SuccessorChannel::former_has_ended() const {
  const auto until = Channel::Clock::now() + kEnding;
  while (Channel::Clock::now() < until) {
    auto channel = Channel::connect(path_);
    if (!channel) return is_absent(channel.error());
    if (channel->receive(until)) return false;
  }
  return false;
}

SuccessorChannel::Ending SuccessorChannel::lost(std::string why) const {
  return {former_has_ended() ? Release::unconfirmed : Release::not_told, std::move(why), {}};
}

std::expected<void, std::string> SuccessorChannel::receive_offer() {
  const auto until = Channel::Clock::now() + kOffered;
  if (auto sent = channel_.send(FrameKind::hello, {}, {}, until); !sent) {
    // It may have refused before it read anything.
    const auto answer = channel_.receive(until);
    if (answer && answer->kind == FrameKind::refused) return std::unexpected(answer->text);
    return sent;
  }
  for (;;) {
    auto frame = channel_.receive(until);
    if (!frame) return std::unexpected(std::move(frame).error());
    if (frame->kind == FrameKind::learned) {
      learned_ = std::move(frame->text);
      return {};
    }
    if (frame->kind == FrameKind::refused) return std::unexpected(frame->text);
    if (frame->kind != FrameKind::sockets) return std::unexpected("it sent a frame out of order");
    if (sockets_.size() + frame->descriptors.size() > kMostDescriptors)
      return std::unexpected(fmt::format("it sent more than {} sockets", kMostDescriptors));
    std::ranges::move(frame->descriptors, std::back_inserter(sockets_));
  }
}

SuccessorChannel::Ending SuccessorChannel::finish(const std::vector<std::string>& unused) {
  if (!ended_.empty()) return {Release::unconfirmed, ended_, {}};
  std::string lines;
  for (const auto& address : unused) lines += address + "\n";
  const auto until = Channel::Clock::now() + kReleased;
  if (auto sent = channel_.send(FrameKind::ready, lines, {}, until); !sent)
    return lost(sent.error());
  auto answer = channel_.receive(until);
  if (!answer) return {Release::unconfirmed, answer.error(), {}};
  if (answer->kind == FrameKind::released) return {Release::confirmed, {}, std::move(answer->text)};
  return lost(answer->text);  // it had given up before
}

}  // namespace karmad
