#include "balancer/trace/line_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr auto kReaderWait = 1s;
constexpr int kPoll = 100;  // ms; delay until the end is noticed while a pipe is not read
constexpr int kFlags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
constexpr std::string_view kSyslog = "syslog";
constexpr std::string_view kSystemLog = "/dev/log";

mode_t kind_of(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

bool is_datagram_socket(int file) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_DGRAM;
}

bool is_standard_output(std::string_view target) {
  return target == "-" || target == "stdout";
}

/// The path of the socket that a target means; empty: it means no system log.
std::string_view socket_of(std::string_view target) {
  if (!target.starts_with(kSyslog)) return {};
  target.remove_prefix(kSyslog.size());
  if (target.empty()) return kSystemLog;
  return target.front() == ':' ? target.substr(1) : std::string_view();
}

int open_socket(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  path.copy(address.sun_path, path.size());
  const int file = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return -1;
  if (::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return file;
  const auto error = errno;
  ::close(file);
  errno = error;
  return -1;
}

}  // namespace

/// A descriptor shares its O_NONBLOCK with all processes that inherited it, so pipes and terminals
/// are opened again. If that is not permitted, a duplicate is used.
int open_same(int descriptor) {
  if (const auto kind = kind_of(descriptor); kind == S_IFIFO || kind == S_IFCHR) {
    const auto path = "/proc/self/fd/" + std::to_string(descriptor);
    if (const int file = ::open(path.c_str(), kFlags); file >= 0) return file;
  }
  return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

int open_output(const std::string& target) {
  if (is_standard_output(target)) return open_same(STDOUT_FILENO);
  if (const auto path = socket_of(target); !path.empty()) return open_socket(path);
  return ::open(target.c_str(), kFlags | O_CREAT, 0640);
}

bool can_be_reopened(std::string_view target) {
  return !target.empty() && !is_standard_output(target);
}

std::string syslog_head(std::time_t now, int process) {
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> time{};
  const auto size = std::strftime(time.data(), time.size(), "%b %e %H:%M:%S", &local);
  return fmt::format("<{}>{} karmad[{}]: ", LOG_DAEMON | LOG_INFO,
                     std::string_view(time.data(), size), process);
}

LineOutput::LineOutput(int file, const std::atomic<bool>& ending) : ending_(ending) {
  adopt(file);
}

LineOutput::~LineOutput() {
  ::close(file_);
}

void LineOutput::change(int file) {
  ::close(file_);
  adopt(file);
}

void LineOutput::adopt(int file) {
  file_ = file;
  kind_ = kind_of(file);
  messages_ = kind_ == S_IFSOCK && is_datagram_socket(file);
  torn_ = false;
}

bool LineOutput::write(std::string_view lines) {
  if (messages_) return send_messages(lines);
  return (!torn_ || write_all("\n")) && write_all(lines);
}

bool LineOutput::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    if (kind_ != S_IFREG && !wait_for_room()) return false;
    const auto done = write_some(bytes.substr(0, piece(bytes)));
    if (done >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(done));
      torn_ = !bytes.empty() && bytes.data()[-1] != '\n';
    } else if (errno != EINTR && errno != EAGAIN) {
      return false;
    }
  }
  return true;
}

bool LineOutput::send_messages(std::string_view lines) {
  auto message = syslog_head(std::time(nullptr), ::getpid());
  const auto head = message.size();
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size());
    message.replace(head, std::string::npos, lines.substr(0, end));
    if (!send_message(message)) return false;
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return true;
}

bool LineOutput::send_message(std::string_view message) {
  for (;;) {
    if (!wait_for_room()) return false;
    if (write_some(message) >= 0) return true;
    if (errno != EINTR && errno != EAGAIN) return false;
  }
}

ssize_t LineOutput::write_some(std::string_view bytes) const {
  return kind_ == S_IFSOCK ? ::send(file_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                           : ::write(file_, bytes.data(), bytes.size());
}

/// A pipe accepts PIPE_BUF bytes atomically, so that lines of two writers do not mix.
std::size_t LineOutput::piece(std::string_view bytes) const {
  if (kind_ == S_IFREG || bytes.size() <= PIPE_BUF) return bytes.size();
  const auto end = bytes.substr(0, PIPE_BUF).rfind('\n');
  return end == std::string_view::npos ? PIPE_BUF : end + 1;
}

/// False if the log ends and its reader has not read it in time.
bool LineOutput::wait_for_room() {
  pollfd waiting{.fd = file_, .events = POLLOUT, .revents = 0};
  for (;;) {
    if (ending_) {
      if (!give_up_) give_up_ = Clock::now() + kReaderWait;
      if (Clock::now() >= *give_up_) break;
    }
    if (::poll(&waiting, 1, kPoll) > 0) return true;
  }
  errno = ETIMEDOUT;
  return false;
}

}  // namespace karmad
