#include "balancer/systemd/notify.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

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

bool ServiceNotifier::send(std::string_view message) const {
  return active() && ::send(socket_, message.data(), message.size(), MSG_NOSIGNAL) ==
                         static_cast<ssize_t>(message.size());
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
