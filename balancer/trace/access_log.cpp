#include "balancer/trace/access_log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr auto kGather = 20ms;             // how long a line may wait for further ones
constexpr std::size_t kEnough = 64 << 10;  // bytes that are written without waiting for more
constexpr auto kLastWait = 1s;
constexpr int kPoll = 100;  // ms; how soon the end is noticed while a pipe's reader does not read

/// A descriptor to write to; -1: errno says why. Not waiting for a reader, where it is a pipe.
int open_file(const std::string& path) {
  if (path == "-") return ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                0640);
}

bool is_regular(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

std::expected<std::unique_ptr<AccessLog>, std::string> AccessLog::open(std::string path,
                                                                       std::size_t room) {
  const int file = open_file(path);
  if (file < 0) return std::unexpected(std::string(std::strerror(errno)));
  return std::unique_ptr<AccessLog>(new AccessLog(std::move(path), file, room));
}

AccessLog::AccessLog(std::string path, int file, std::size_t room)
    : path_(std::move(path)),
      room_(room),
      enough_(std::min(kEnough, room / 2)),
      file_(file),
      regular_(is_regular(file)),
      thread_([this] { run(); }) {}

AccessLog::~AccessLog() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  news_.notify_one();
  thread_.join();
  ::close(file_);
}

void AccessLog::write(std::string_view line) {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.bytes.size() + line.size() >= room_) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const bool had_enough = waiting_.bytes.size() >= enough_;
    waiting_.bytes.append(line).push_back('\n');
    const bool has_enough = waiting_.bytes.size() >= enough_;
    if (++waiting_.count > 1 && had_enough == has_enough) return;  // the thread knows
  }
  news_.notify_one();
}

void AccessLog::reopen() {
  if (path_ == "-") return;
  {
    const std::scoped_lock lock(mutex_);
    reopen_ = true;
  }
  news_.notify_one();
}

void AccessLog::run() {
  Lines lines;
  for (bool last = false; !last;) {
    bool again = false;
    {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [&] { return ending_ || reopen_ || waiting_.count > 0; });
      news_.wait_for(lock, kGather,
                     [&] { return ending_ || reopen_ || waiting_.bytes.size() >= enough_; });
      std::swap(lines, waiting_);
      again = std::exchange(reopen_, false);
      last = ending_;
    }
    if (again) open_again();
    if (lines.count > 0) write_out(lines);
    lines.bytes.clear();
    lines.count = 0;
  }
}

void AccessLog::write_out(const Lines& lines) {
  // What was cut off in the middle shall not spoil the next line.
  if ((!torn_ || write_all("\n")) && write_all(lines.bytes)) {
    written_.fetch_add(lines.count, std::memory_order_relaxed);
    if (std::exchange(trouble_, false)) spdlog::info("access_log {}: written again", path_);
    return;
  }
  const auto why = errno;
  dropped_.fetch_add(lines.count, std::memory_order_relaxed);
  if (!std::exchange(trouble_, true))
    spdlog::warn("access_log {}: {}; lines are dropped until it can be written", path_,
                 std::strerror(why));
}

/// False: errno says why not.
bool AccessLog::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!regular_ && !wait_for_room()) return false;
    // What a pipe is said to have room for; more would wait for its reader.
    const auto size = regular_ ? bytes.size() : std::min<std::size_t>(bytes.size(), PIPE_BUF);
    const auto done = ::write(file_, bytes.data(), size);
    if (done >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(done));
      torn_ = !bytes.empty();
    } else if (errno != EINTR && errno != EAGAIN) {
      return false;
    }
  }
  return true;
}

/// False when the log ends and its reader did not read it in time.
bool AccessLog::wait_for_room() {
  pollfd waiting{.fd = file_, .events = POLLOUT, .revents = 0};
  for (;;) {
    if (ending_) {
      const auto now = std::chrono::steady_clock::now();
      if (!give_up_) give_up_ = now + kLastWait;
      if (now >= *give_up_) break;
    }
    if (::poll(&waiting, 1, kPoll) > 0) return true;
  }
  errno = ETIMEDOUT;
  return false;
}

void AccessLog::open_again() {
  const int next = open_file(path_);
  if (next < 0) {
    spdlog::warn("access_log {}: {}; going on in the old file", path_, std::strerror(errno));
    return;
  }
  ::close(std::exchange(file_, next));
  regular_ = is_regular(file_);
  torn_ = false;
}

}  // namespace karmad
