#include "balancer/trace/line_writer.hpp"

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
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>

#include "config/text/source_text.hpp"

namespace karmad {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kEnough = 64 << 10;  // bytes that are written without waiting for more
constexpr auto kLastWait = 1s;

/// Blocks all signals while the writer's thread is started, which inherits that.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked& operator=(SignalsBlocked&&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

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
  Descriptor file(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (file &&
      ::connect(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return -1;
  return file.release();
}

/// The file of a descriptor that stays open, for writes of its own.
/// A descriptor shares its O_NONBLOCK with all processes that inherited it, so pipes and terminals
/// are opened again. If that is not permitted, a duplicate is used.
int open_same(int descriptor) {
  if (const auto kind = kind_of(descriptor); kind == S_IFIFO || kind == S_IFCHR) {
    const auto path = "/proc/self/fd/" + std::to_string(descriptor);
    if (const int file = ::open(path.c_str(), kFlags); file >= 0) return file;
  }
  return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

}  // namespace

/// State shared by callers and the thread.
struct LineWriter::State {
  State(std::string where, int file, Options wanted)
      : path(std::move(where)),
        options(std::move(wanted)),
        enough(std::min(kEnough, options.room / 2)),
        output(file, ending) {}

  struct Lines {
    std::string bytes;
    std::uint64_t count = 0;
    std::uint64_t dropped = 0;  ///< those that came after them and found no room
  };

  const std::string path;  ///< empty: it cannot be opened again
  const Options options;
  const std::size_t enough;
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<bool> ending{false};
  std::atomic<bool> left_alone{false};  ///< the callbacks have been destroyed

  std::mutex mutex;  ///< of the next six
  std::condition_variable news;
  std::condition_variable settled;  ///< `under_way` or `ended` changed
  Lines waiting;
  bool under_way = false;  ///< the thread has lines
  bool reopen = false;
  bool ended = false;

  // Used by the thread only.
  LineOutput output;
  bool trouble = false;      ///< the last write failed, which was reported
  std::uint64_t untold = 0;  ///< dropped lines that were not reported

  void write_out(const Lines& lines);
  void report(int error, std::string_view consequence) const;
};

std::expected<std::unique_ptr<LineWriter>, std::string> LineWriter::open(std::string path,
                                                                         Options options) {
  const int file = open_output(path);
  if (file < 0) return std::unexpected(std::string(std::strerror(errno)));
  if (!can_be_reopened(path)) path.clear();
  return std::unique_ptr<LineWriter>(
      new LineWriter(std::make_shared<State>(std::move(path), file, std::move(options))));
}

std::unique_ptr<LineWriter> LineWriter::for_descriptor(int descriptor, Options options) {
  return std::unique_ptr<LineWriter>(new LineWriter(
      std::make_shared<State>(std::string(), open_same(descriptor), std::move(options))));
}

LineWriter::LineWriter(std::shared_ptr<State> state) : state_(std::move(state)) {
  const SignalsBlocked blocked;
  thread_ = std::thread([mine = state_] { run(mine); });
}

void LineWriter::write(std::string_view line) {
  auto& to = *state_;
  {
    const std::scoped_lock lock(to.mutex);
    auto& [bytes, count, dropped] = to.waiting;
    if (to.ending || bytes.size() + line.size() >= to.options.room) {
      to.dropped.fetch_add(1, std::memory_order_relaxed);
      ++dropped;
      return;
    }
    const bool had_enough = bytes.size() >= to.enough;
    bytes.append(line).push_back('\n');
    const bool has_enough = bytes.size() >= to.enough;
    if (++count > 1 && had_enough == has_enough) return;  // a wake-up is already pending
  }
  to.news.notify_one();
}

void LineWriter::reopen() {
  if (state_->path.empty()) return;
  {
    const std::scoped_lock lock(state_->mutex);
    state_->reopen = true;
  }
  state_->news.notify_one();
}

void LineWriter::flush() {
  std::unique_lock lock(state_->mutex);
  state_->settled.wait_for(lock, kLastWait, [&] {
    return state_->ended || (state_->waiting.count == 0 && !state_->under_way);
  });
}

void LineWriter::end() {
  bool ended = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->ending = true;
    state_->news.notify_one();
    ended = state_->settled.wait_for(lock, 2 * kLastWait, [&] { return state_->ended; });
  }
  if (!thread_.joinable()) return;
  if (ended) {
    thread_.join();
  } else {
    state_->left_alone = true;
    thread_.detach();  // blocked in a write that does not end
  }
}

std::uint64_t LineWriter::written() const {
  return state_->written.load(std::memory_order_relaxed);
}

std::uint64_t LineWriter::dropped() const {
  return state_->dropped.load(std::memory_order_relaxed);
}

void LineWriter::run(const std::shared_ptr<State>& state) {
  auto& my = *state;
  State::Lines lines;
  for (bool last = false; !last;) {
    bool again = false;
    {
      std::unique_lock lock(my.mutex);
      my.news.wait(lock, [&] { return my.ending || my.reopen || my.waiting.count > 0; });
      my.news.wait_for(lock, my.options.gather, [&] {
        return my.ending || my.reopen || my.waiting.bytes.size() >= my.enough;
      });
      std::swap(lines, my.waiting);
      my.under_way = true;
      again = std::exchange(my.reopen, false);
      last = my.ending;
    }
    my.untold += lines.dropped;
    if (const int file = again ? open_output(my.path) : -1; file >= 0)
      my.output.change(file);
    else if (again)
      my.report(errno, "the old file stays in use");
    if (lines.count > 0) my.write_out(lines);
    lines.bytes.clear();
    lines.count = lines.dropped = 0;
    const std::scoped_lock lock(my.mutex);
    my.under_way = false;
    my.ended = last;
    my.settled.notify_all();
  }
}

void LineWriter::State::write_out(const Lines& lines) {
  if (!output.write(lines.bytes)) {
    const auto error = errno;
    dropped.fetch_add(lines.count, std::memory_order_relaxed);
    untold += lines.count;
    if (!std::exchange(trouble, true))
      report(error, "lines are dropped until the file can be written");
    // A system log may have been started again: its old socket takes nothing any more.
    const int file = output.sends_messages() && !path.empty() ? open_output(path) : -1;
    if (file >= 0) output.change(file);
    return;
  }
  trouble = false;
  written.fetch_add(lines.count, std::memory_order_relaxed);
  if (untold == 0 || left_alone) return;
  const auto count = std::exchange(untold, 0);
  const auto line = options.on_recovery ? options.on_recovery(count) : std::string();
  if (!line.empty()) output.write(line + '\n');
}

void LineWriter::State::report(int error, std::string_view consequence) const {
  if (!options.on_failure || left_alone) return;
  options.on_failure(std::string(std::strerror(error)).append("; ").append(consequence));
}

void write(StatsWriter& out, const LineWriter* log) {
  out.add(
      {"log_lines_written", "lines written to a log", StatKind::counter, Unit::count, "written"},
      log != nullptr ? log->written() : 0U);
  out.add({"log_lines_dropped", "lines dropped: the log had no room or could not be written",
           StatKind::counter, Unit::count, "dropped"},
          log != nullptr ? log->dropped() : 0U);
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
  change(file);
}

void LineOutput::change(int file) {
  file_ = Descriptor(file);
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
      const auto written = bytes.substr(0, static_cast<std::size_t>(done));
      bytes.remove_prefix(written.size());
      if (!written.empty()) torn_ = !bytes.empty() && written.back() != '\n';
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
    message.resize(head);
    message.append(take_until(lines, '\n'));
    if (!send_message(message)) return false;
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
  return kind_ == S_IFSOCK
             ? ::send(file_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
             : ::write(file_.get(), bytes.data(), bytes.size());
}

/// A pipe accepts PIPE_BUF bytes atomically, so that lines of two writers do not mix.
std::size_t LineOutput::piece(std::string_view bytes) const {
  if (kind_ == S_IFREG || bytes.size() <= PIPE_BUF) return bytes.size();
  const auto end = bytes.substr(0, PIPE_BUF).rfind('\n');
  return end == std::string_view::npos ? PIPE_BUF : end + 1;
}

/// False if the log ends and its reader has not read it in time.
bool LineOutput::wait_for_room() {
  pollfd waiting{.fd = file_.get(), .events = POLLOUT, .revents = 0};
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
