#include "balancer/systemd.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstddef>

#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

constexpr int kFirstPassed = 3;  // SD_LISTEN_FDS_START
constexpr int kMostPassed = 4096;

constexpr std::size_t kLongestStatus = 500;

std::string status_line(std::string_view status) {
  std::string line(status.substr(0, kLongestStatus));
  std::ranges::replace(line, '\n', ' ');
  return "STATUS=" + line + "\n";
}

std::string_view text_or_empty(const char* text) {
  return text == nullptr ? std::string_view() : text;
}

}  // namespace

std::expected<std::vector<PassedDescriptor>, std::string> passed_descriptors(
    const ListenVariables& variables, int own_pid) {
  std::vector<PassedDescriptor> passed;
  if (variables.pid == nullptr || variables.fds == nullptr) return passed;
  if (number_in<int>(variables.pid).value_or(-1) != own_pid) return passed;
  const auto count = number_in<int>(variables.fds).value_or(-1);
  if (count < 0 || count > kMostPassed)
    return std::unexpected(
        fmt::format("LISTEN_FDS is not a number up to {}: {}", kMostPassed, variables.fds));
  std::string_view names = variables.names != nullptr ? variables.names : "";
  for (int i = 0; i < count; ++i) {
    passed.push_back({kFirstPassed + i, std::string(take_until(names, ':'))});
  }
  return passed;
}

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
  return number_in<std::size_t>(text_or_empty(fdstore)).value_or(0);
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
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), size) == 0)
    socket_ = std::move(socket);
}

bool ServiceNotifier::send(std::string_view message, std::span<const int> descriptors) const {
  return active() && descriptors.size() <= kMostSentAtOnce &&
         send_with(socket_.get(), message, descriptors) == static_cast<ssize_t>(message.size());
}

std::optional<Micros> watchdog_interval(const char* usec, const char* pid, int own, int former) {
  const auto interval = number_in<std::int64_t>(text_or_empty(usec));
  if (!interval || *interval <= 0) return std::nullopt;
  if (pid != nullptr) {
    const auto wanted = number_in<int>(text_or_empty(pid));
    if (!wanted || (*wanted != own && (former == 0 || *wanted != former))) return std::nullopt;
  }
  return Micros{*interval};
}

Watchdog::Watchdog(Loop& main, Micros interval, std::size_t workers, Ask ask,
                   std::function<void()> sign_of_life)
    : main_(main),
      every_(std::max(interval / 2, Micros{1})),
      workers_(workers),
      ask_(std::move(ask)),
      sign_of_life_(std::move(sign_of_life)),
      timer_(main.io) {}

void Watchdog::start() {
  tick();
}

void Watchdog::tick() {
  if (workers_end_) {
    sign_of_life_();
  } else if (!asking_) {
    ask_workers();
  }
  timer_.expires_after(every_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

void Watchdog::ask_workers() {
  asking_ = true;
  unanswered_.store(workers_);
  for (std::size_t i = 0; i < workers_; ++i)
    ask_(i, [this] {
      if (unanswered_.fetch_sub(1) != 1) return;
      main_.post([this] {
        asking_ = false;
        sign_of_life_();
      });
    });
}

}  // namespace karmad
