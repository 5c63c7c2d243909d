#include "balancer/handover/takeover_service.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "balancer/core/listening_socket.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

using namespace std::chrono_literals;

constexpr auto kExchange = 5s;  // for each step that needs no work of the other side
constexpr auto kOpening = 60s;  // for the successor to open everything
constexpr int kWaitingSuccessors = 4;
constexpr std::size_t kLongestServicePath = sizeof(sockaddr_un{}.sun_path) - 2;  // of the `~`

/// Binds to a neighbour of the path and renames it, so that the path always leads to a socket.
std::expected<Descriptor, std::string> listen_for_successors(const std::string& path) {
  if (path.size() > kLongestServicePath)
    return std::unexpected(fmt::format("it has more than {} bytes", kLongestServicePath));
  const auto temporary = path + "~";
  for (const auto& file : {path, temporary})
    if (is_other_file(file)) return std::unexpected(fmt::format("{}: {}", file, kOtherFile));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  temporary.copy(address.sun_path, temporary.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto failed = [&](const char* what) {
    auto why = fmt::format("{}: {}", what, std::strerror(errno));
    ::unlink(temporary.c_str());
    return std::unexpected(std::move(why));
  };
  if (!socket) return failed("socket");
  ::unlink(temporary.c_str());
  // On Linux the file gets the mode of the socket, so it is never open to others.
  if (::fchmod(socket.get(), S_IRUSR | S_IWUSR) != 0) return failed("chmod");
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failed("bind");
  if (::listen(socket.get(), kWaitingSuccessors) != 0) return failed("listen");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return failed("rename");
  return socket;
}

std::uint64_t inode_at(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) lines.emplace_back(take_until(text, '\n'));
  return lines;
}

}  // namespace

std::expected<std::unique_ptr<TakeoverService>, std::string> TakeoverService::open(
    const std::string& path, Callbacks callbacks) {
  auto listener = listen_for_successors(path);
  if (!listener) return std::unexpected(std::move(listener).error());
  Descriptor stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return std::unexpected(std::strerror(errno));
  return std::unique_ptr<TakeoverService>(
      new TakeoverService(*std::move(listener), std::move(stop), path, std::move(callbacks)));
}

TakeoverService::TakeoverService(Descriptor listener, Descriptor stop, std::string path,
                                 Callbacks callbacks)
    : listener_(std::move(listener)),
      stop_(std::move(stop)),
      path_(std::move(path)),
      callbacks_(std::move(callbacks)),
      inode_(inode_at(path_)),
      thread_([this] { run(); }) {}

TakeoverService::~TakeoverService() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
  if (!released_ && owns_path()) ::unlink(path_.c_str());
}

/// Another process may have replaced it.
bool TakeoverService::owns_path() const {
  return inode_ != 0 && inode_at(path_) == inode_;
}

void TakeoverService::run() {
  while (!released_) {
    pollfd waits[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) return;
    if (waits[1].revents != 0) return;
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) continue;
    Channel channel(std::move(socket), stop_.get());
    const auto served = serve(channel);
    offering_ = false;
    if (served) continue;
    spdlog::warn("takeover: {}; this process goes on", served.error());
    (void)channel.send(FrameKind::refused, served.error(), {}, Channel::Clock::now() + 1s);
  }
  listener_ = Descriptor();
}

std::expected<void, std::string> TakeoverService::serve(Channel& channel) {
  const auto in = [](std::chrono::seconds time) { return Channel::Clock::now() + time; };
  const auto peer = channel.peer();
  if (peer.user != static_cast<std::int64_t>(::geteuid()))
    return std::unexpected(
        fmt::format("process {} is of user {}, not {}", peer.pid, peer.user, ::geteuid()));
  const auto expect = [&](FrameKind kind,
                          std::chrono::seconds time) -> std::expected<std::string, std::string> {
    auto frame = channel.receive(in(time));
    if (!frame) return std::unexpected(std::move(frame).error());
    if (frame->kind != kind) return std::unexpected("process sent a frame out of order");
    return std::move(frame->text);
  };
  if (auto hello = expect(FrameKind::hello, kExchange); !hello)
    return std::unexpected(std::move(hello).error());
  spdlog::info("takeover: process {} asks for the listening sockets", peer.pid);
  offering_ = true;
  auto offer = callbacks_.offer();
  if (!offer) return std::unexpected(std::move(offer).error());
  const std::span<const int> sockets(offer->sockets);
  const auto until = in(kExchange);
  for (std::size_t at = 0; at < sockets.size(); at += kMostFrameDescriptors) {
    const auto part = sockets.subspan(at, std::min(kMostFrameDescriptors, sockets.size() - at));
    if (auto sent = channel.send(FrameKind::sockets, {}, part, until); !sent) return sent;
  }
  if (auto sent = channel.send(FrameKind::learned, offer->learned, {}, until); !sent) return sent;
  const auto unused = expect(FrameKind::ready, kOpening);
  if (!unused) return std::unexpected(unused.error());
  released_ = true;
  const auto more = callbacks_.release({peer.pid, lines_of(*unused)});
  if (auto told = channel.send(FrameKind::released, more, {}, in(kExchange)); !told)
    spdlog::warn("takeover: process {} got no confirmation: {}", peer.pid, told.error());
  return {};
}

namespace {

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
