#include "balancer/trace/line_writer.hpp"

#include "balancer/trace/line_output.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

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
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

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
  void connect_again();
  void open_again();
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

LineWriter::~LineWriter() {
  end();
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
    if (again) my.open_again();
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
    if (output.sends_messages()) connect_again();
    return;
  }
  trouble = false;
  written.fetch_add(lines.count, std::memory_order_relaxed);
  if (untold == 0 || left_alone) return;
  const auto count = std::exchange(untold, 0);
  const auto line = options.on_recovery ? options.on_recovery(count) : std::string();
  if (!line.empty()) output.write(line + '\n');
}

/// For a system log that was started again: its old socket takes nothing any more.
void LineWriter::State::connect_again() {
  if (const int file = path.empty() ? -1 : open_output(path); file >= 0) output.change(file);
}

void LineWriter::State::open_again() {
  const int file = open_output(path);
  if (file >= 0) return output.change(file);
  report(errno, "the old file stays in use");
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

}  // namespace karmad
