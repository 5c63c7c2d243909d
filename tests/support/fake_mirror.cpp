#include "tests/support/fake_mirror.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace karmad::test {
namespace {

constexpr std::chrono::milliseconds kNap{50};  // how soon a busy mirror notices its end
constexpr int kMoment = 10;                    // ms that a mirror lingers for a request
constexpr std::size_t kPacket = 256 << 10;

/// Binds a socket to any port of 127.0.0.1.
int bind_any(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return fd;
}

int bind_to_path(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  return fd;
}

/// Binds a socket to any port of [::1]; -1 when there is no such address.
int bind_any_ipv6(int& port) {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    if (fd >= 0) ::close(fd);
    return -1;
  }
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin6_port);
  return fd;
}

/// Takes one whole request off `in`, or nothing yet. `head_only`: as soon as its head is there.
std::string take_request(std::string& in, bool head_only) {
  const auto head = in.find("\r\n\r\n");
  if (head == std::string::npos) return {};
  std::string small = in.substr(0, head);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto field = small.find("\r\ncontent-length:");
  auto body =
      field == std::string::npos ? 0 : std::strtoul(small.c_str() + field + 17, nullptr, 10);
  if (small.contains("\r\ntransfer-encoding: chunked")) {
    constexpr std::string_view kEnd = "\r\n0\r\n\r\n";  // no test has it in a body
    const auto end = in.find(kEnd, head + 2);
    if (end == std::string::npos && !head_only) return {};
    body = end + kEnd.size() - head - 4;
  }
  const auto size = head + 4 + body;
  if (head_only) return std::exchange(in, {});
  if (in.size() < size) return {};
  auto request = in.substr(0, size);
  in.erase(0, size);
  return request;
}

}  // namespace

Reaction json(std::string_view body, int status) {
  return {
      fmt::format("HTTP/1.1 {} X\r\nContent-Type: application/json; charset=UTF-8\r\n"
                  "Content-Length: {}\r\n\r\n{}",
                  status, body.size(), body)};
}

Reaction nothing_found() {
  return json(R"({"took":0,"timed_out":false,"hits":{"total":0,"total_relation":"eq","hits":[]}})");
}

Reaction slowly(std::chrono::milliseconds after) {
  auto reaction = nothing_found();
  reaction.after = after;
  return reaction;
}

Reaction silence() {
  return {.bytes = "", .then = Reaction::Then::hang};
}

bool has_ipv6() {
  int port = 0;
  const int fd = bind_any_ipv6(port);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

FakeMirror::FakeMirror(React react, bool pings_too, Home home)
    : home_(home), pings_too_(pings_too), react_(std::move(react)) {
  listener_ = home == Home::ipv6          ? bind_any_ipv6(port_)
              : home == Home::unix_socket ? bind_to_path(address())
                                          : bind_any(port_);
  ::listen(listener_, 128);
  acceptor_ = std::thread([this] { accept(); });
}

FakeMirror::FakeMirror(React react, std::string host, int port)
    : home_(Home::ipv4),
      host_(std::move(host)),
      port_(port),
      pings_too_(false),
      react_(std::move(react)) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, host_.c_str(), &at.sin_addr);
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    throw std::runtime_error("cannot bind " + address());
  ::listen(listener_, 128);
  acceptor_ = std::thread([this] { accept(); });
}

FakeMirror::~FakeMirror() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  close_all();
  for (auto& thread : threads_) thread.join();
}

std::string FakeMirror::address() const {
  if (home_ == Home::unix_socket) return dir_.path() + "/agent.sock";
  return fmt::format("{}:{}", home_ == Home::ipv6 ? "[::1]" : host_, port_);
}

void FakeMirror::react(React react) {
  const std::scoped_lock lock(mutex_);
  react_ = std::move(react);
}

std::size_t FakeMirror::requests() const {
  const std::scoped_lock lock(mutex_);
  return seen_.size();
}

std::vector<std::string> FakeMirror::seen() const {
  const std::scoped_lock lock(mutex_);
  return seen_;
}

std::size_t FakeMirror::open_connections() const {
  const std::scoped_lock lock(mutex_);
  return open_.size();
}

void FakeMirror::close_all() {
  const std::scoped_lock lock(mutex_);
  for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
}

void FakeMirror::accept() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
      if (stopping_) return;
      continue;
    }
    ++accepted_;
    const std::scoped_lock lock(mutex_);
    open_.push_back(socket);
    threads_.emplace_back([this, socket] { serve(socket); });
  }
}

/// As long as the reaction says, and until it may answer. It is done before the answer goes out.
void FakeMirror::work(const Reaction& reaction) {
  const int now = ++busy_;
  for (int most = most_busy_; most < now && !most_busy_.compare_exchange_weak(most, now);) {
  }
  for (auto left = reaction.after; left.count() > 0 && !stopping_; left -= kNap)
    ::poll(nullptr, 0, static_cast<int>(std::min(left, kNap).count()));
  for (int may = may_answer_; !stopping_ && may != kAll; may = may_answer_) {
    if (may > 0 && may_answer_.compare_exchange_weak(may, may - 1)) break;
    if (may <= 0) ::poll(nullptr, 0, 1);
  }
  --busy_;
}

/// Sends `bytes` in packets of at most `step`; false when the other side closed.
bool FakeMirror::send_in_steps(int socket, std::string_view bytes, std::size_t step) {
  while (!bytes.empty()) {
    const auto n = ::send(socket, bytes.data(), std::min(step, bytes.size()), MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent_ += static_cast<std::size_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void FakeMirror::echo(int socket, std::string in) {
  std::string bytes(65536, 0);
  while (send_in_steps(socket, in, kPacket)) {
    const auto n = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (n <= 0) break;
    in.assign(bytes, 0, static_cast<std::size_t>(n));
  }
  send_in_steps(socket, "bye", kPacket);
}

void FakeMirror::serve(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::string in;
  char bytes[65536];
  for (bool over = false; !over;) {
    const auto n = ::recv(socket, bytes, sizeof bytes, 0);
    if (n <= 0) break;
    in.append(bytes, static_cast<std::size_t>(n));
    received_ += static_cast<std::size_t>(n);
    for (auto request = take_request(in, heads_only_); !over && !request.empty();
         request = take_request(in, heads_only_)) {
      Reaction reaction = json("{}");
      if (pings_too_ || !request.starts_with("GET / ")) {
        {
          const std::scoped_lock lock(mutex_);
          seen_.push_back(request);
          reaction = react_(request);
        }
        work(reaction);
      }
      const auto step = reaction.step == 0 ? kPacket : reaction.step;
      const auto all = std::string_view(reaction.bytes);
      const auto held_from = std::min(reaction.held_from, all.size());
      over = !send_in_steps(socket, all.substr(0, held_from), step);
      while (!over && held_from < all.size() && holds_rest_ && !stopping_) ::poll(nullptr, 0, 1);
      over = over || !send_in_steps(socket, all.substr(held_from), step);
      if (reaction.then == Reaction::Then::die) {
        stopping_ = true;
        ::shutdown(listener_, SHUT_RDWR);
        close_all();
      }
      if (reaction.then == Reaction::Then::reset) {
        const linger now{1, 0};
        ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      }
      if (!over && reaction.then == Reaction::Then::echo) echo(socket, std::exchange(in, {}));
      over = over || reaction.then == Reaction::Then::reset ||
             reaction.then == Reaction::Then::close || reaction.then == Reaction::Then::die ||
             reaction.then == Reaction::Then::echo;
      if (reaction.then == Reaction::Then::hang) break;
      pollfd next{socket, POLLIN, 0};
      if (reaction.then == Reaction::Then::linger && in.empty())
        over = over || ::poll(&next, 1, kMoment) == 0;
    }
  }
  const std::scoped_lock lock(mutex_);
  std::erase(open_, socket);
  ::close(socket);
}

ClosedPort::ClosedPort() : socket_(bind_any(port_)) {}
ClosedPort::~ClosedPort() {
  ::close(socket_);
}

FullPort::FullPort() : listener_(bind_any(port_)) {
  ::listen(listener_, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < 4; ++i) {
    waiting_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::connect(waiting_.back(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
}
FullPort::~FullPort() {
  for (const int fd : waiting_) ::close(fd);
  ::close(listener_);
}

}  // namespace karmad::test
