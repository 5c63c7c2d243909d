#pragma once

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "agent/stats/stats_writer.hpp"
#include "agent/transport/descriptor.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// Writes lines to a file, a standard output or the system log on its own thread. A caller copies
/// its line into a buffer and continues; a line for which the buffer has no room, or that cannot be
/// written, is dropped and counted. The lock is held while a line is copied, never during a write.
/// Any thread.
class LineWriter {
 public:
  static constexpr std::size_t kRoom = 4 << 20;  // some ten thousand lines

  struct Options {
    std::size_t room = kRoom;  ///< size of the buffer in bytes
    /// How long a line may wait for others, so that fewer writes are needed. 64 KiB (or half the
    /// buffer, if that is less) are written at once.
    std::chrono::milliseconds gather{20};
    /// Called by the writer's thread when writing starts to fail, with the reason and its effect.
    std::function<void(const std::string& why)> on_failure;
    /// Called by the writer's thread when writing works again after lines were dropped. Returns the
    /// next line; an empty one is not written.
    std::function<std::string(std::uint64_t dropped)> on_recovery;
  };

  /// `path`: a file, `stdout` or `syslog`, as open_output() has it. The error says what failed.
  static std::expected<std::unique_ptr<LineWriter>, std::string> open(std::string path,
                                                                      Options options);
  /// For a descriptor that stays open, usually standard error.
  static std::unique_ptr<LineWriter> for_descriptor(int descriptor, Options options);

  LineWriter& operator=(LineWriter&&) = delete;
  ~LineWriter() { end(); }

  /// `line` has no line end. Does not wait.
  void write(std::string_view line);
  /// Reopens the file by its name, for log rotation.
  void reopen();
  /// Waits until all lines so far are written or dropped, at most a second.
  void flush();
  /// Writes the remaining lines for at most a second; later lines are dropped. Takes at most two
  /// seconds, even if the file blocks.
  void end();

  std::uint64_t written() const;
  std::uint64_t dropped() const;

 private:
  struct State;
  explicit LineWriter(std::shared_ptr<State> state);
  static void run(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  ///< shared with the thread; a blocked write keeps it alive
  std::thread thread_;
};

/// Null: all numbers are 0.
void write(StatsWriter& out, const LineWriter* log);

/// Opens a target of lines for writing; -1: see errno. Does not wait for the reader of a pipe.
/// `target`: `-` or `stdout`, the standard output; `syslog` or `syslog:PATH`, the socket of the
/// system log (`/dev/log`); else a file to append to.
int open_output(const std::string& target);
/// Whether the target has a name by which it can be opened again.
bool can_be_reopened(std::string_view target);

/// The beginning of a message to the system log of this machine, as syslog(3) writes it:
/// `<30>Nov 14 22:13:20 karmad[123]: `.
std::string syslog_head(std::time_t now, int process);

/// Writes lines to a descriptor, which it owns: as bytes, or each as a message if it is a datagram
/// socket. For the thread of a LineWriter only: it waits for the reader.
class LineOutput {
 public:
  /// `ending`: once set, a reader is waited for a second at most.
  LineOutput(int file, const std::atomic<bool>& ending);
  LineOutput& operator=(LineOutput&&) = delete;

  /// Writes to this file from now on.
  void change(int file);
  /// Whether a write that failed may succeed on a new socket: the reader started again.
  bool sends_messages() const { return messages_; }
  /// `lines`: each with its line end. False: see errno. After an interrupted line, the next one
  /// starts on a new line.
  bool write(std::string_view lines);

 private:
  using Clock = std::chrono::steady_clock;
  bool write_all(std::string_view bytes);
  bool send_messages(std::string_view lines);
  bool send_message(std::string_view message);
  ssize_t write_some(std::string_view bytes) const;
  std::size_t piece(std::string_view bytes) const;
  bool wait_for_room();

  Descriptor file_;
  mode_t kind_ = 0;
  bool messages_ = false;
  const std::atomic<bool>& ending_;
  bool torn_ = false;                         ///< the last write left a piece of a line
  std::optional<Clock::time_point> give_up_;  ///< once the log ends
};

/// Limits the log lines of one kind: that many in any second that starts with a line. Pure.
class LineRate {
 public:
  explicit LineRate(std::uint32_t per_second) : per_second_(per_second) {}

  /// A line is due at `now`: the number of lines left out since the last written one; nothing if
  /// this one must be left out too.
  std::optional<std::uint64_t> may_write(TimePoint now) {
    if (!began_ || now - *began_ >= std::chrono::seconds(1)) {
      began_ = now;
      written_ = 0;
    }
    if (written_ >= per_second_) {
      ++left_out_;
      return std::nullopt;
    }
    ++written_;
    return std::exchange(left_out_, 0);
  }

 private:
  const std::uint32_t per_second_;
  std::optional<TimePoint> began_;
  std::uint32_t written_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace karmad
