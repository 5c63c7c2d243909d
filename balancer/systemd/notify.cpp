#include "balancer/systemd/notify.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace karmad {
namespace {

constexpr std::size_t kLongestStatus = 500;

std::string status_line(std::string_view status) {
  std::string line(status.substr(0, kLongestStatus));
  std::ranges::replace(line, '\n', ' ');
  return "STATUS=" + line + "\n";
}

template <class Number>
std::optional<Number> number_in(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  Number value{};
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
  return error == std::errc{} && end == digits.end() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string text(const ServiceReady& ready) {
  const auto pid = ready.main_pid ? main_pid_text(*ready.main_pid) : std::string();
  return pid + "READY=1\n" + status_line(ready.status);
}

std::string reloading_text(Micros monotonic) {
  return fmt::format("RELOADING=1\nMONOTONIC_USEC={}\n{}", monotonic.count(),
                     status_line("reading the configuration"));
}

std::string stopping_text(std::string_view status) {
  return "STOPPING=1\n" + status_line(status);
}

std::string status_text(std::string_view status) {
  return status_line(status);
}

std::string stored_text(std::string_view name) {
  return fmt::format("FDSTORE=1\nFDNAME={}\n", name);
}

std::string not_stored_text(std::string_view name) {
  return fmt::format("FDSTOREREMOVE=1\nFDNAME={}\n", name);
}

std::string stored_name(std::string_view address) {
  std::string name = "listen-";
  for (const char c : address) name += c > ' ' && c < 0x7f && c != ':' ? c : '_';
  return name;
}

std::size_t store_size(const char* fdstore) {
  return number_in<std::size_t>(fdstore).value_or(0);
}

std::string main_pid_text(int pid) {
  return fmt::format("MAINPID={}\n", pid);
}

ServiceNotifier::ServiceNotifier(std::string_view address) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const bool valid = address.size() > 1 && (address[0] == '/' || address[0] == '@');
  if (!valid || address.size() >= sizeof to.sun_path) return;
  address.copy(to.sun_path, address.size());
  if (address[0] == '@') to.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() +
                                           (address[0] == '/' ? 1 : 0));
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), size) == 0) {
    socket_ = fd;
  } else {
    ::close(fd);
  }
}

ServiceNotifier::~ServiceNotifier() {
  if (socket_ >= 0) ::close(socket_);
}

bool ServiceNotifier::send(std::string_view message, std::span<const int> descriptors) const {
  if (!active() || descriptors.size() > kMostSent) return false;
  iovec piece{const_cast<char*>(message.data()), message.size()};
  msghdr head{};
  head.msg_iov = &piece;
  head.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostSent)> control{};
  if (!descriptors.empty()) {
    head.msg_control = control.data();
    head.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    auto* part = CMSG_FIRSTHDR(&head);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  return ::sendmsg(socket_, &head, MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

std::optional<Micros> watchdog_interval(const char* usec, const char* pid, int own, int former) {
  const auto interval = number_in<std::int64_t>(usec);
  if (!interval || *interval <= 0) return std::nullopt;
  if (pid != nullptr) {
    const auto wanted = number_in<int>(pid);
    if (!wanted || (*wanted != own && (former == 0 || *wanted != former))) return std::nullopt;
  }
  return Micros{*interval};
}

}  // namespace karmad
