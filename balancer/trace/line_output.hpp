#pragma once

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace karmad {

/// Opens a target of lines for writing; -1: see errno. Does not wait for the reader of a pipe.
/// `target`: `-` or `stdout`, the standard output; `syslog` or `syslog:PATH`, the socket of the
/// system log (`/dev/log`); else a file to append to.
int open_output(const std::string& target);
/// The file of a descriptor that stays open, for writes of its own.
int open_same(int descriptor);
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
  LineOutput(const LineOutput&) = delete;
  LineOutput& operator=(const LineOutput&) = delete;
  ~LineOutput();

  /// Writes to this file from now on.
  void change(int file);
  /// Whether a write that failed may succeed on a new socket: the reader started again.
  bool sends_messages() const { return messages_; }
  /// `lines`: each with its line end. False: see errno. After an interrupted line, the next one
  /// starts on a new line.
  bool write(std::string_view lines);

 private:
  using Clock = std::chrono::steady_clock;
  void adopt(int file);
  bool write_all(std::string_view bytes);
  bool send_messages(std::string_view lines);
  bool send_message(std::string_view message);
  ssize_t write_some(std::string_view bytes) const;
  std::size_t piece(std::string_view bytes) const;
  bool wait_for_room();

  int file_ = -1;
  mode_t kind_ = 0;
  bool messages_ = false;
  const std::atomic<bool>& ending_;
  bool torn_ = false;                         ///< the last write left a piece of a line
  std::optional<Clock::time_point> give_up_;  ///< once the log ends
};

}  // namespace karmad
