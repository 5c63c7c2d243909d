#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "agent/stats/stats_writer.hpp"

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
  static std::expected<std::unique_ptr<LineWriter>, std::string> open(std::string path) {
    return open(std::move(path), Options());
  }
  /// For a descriptor that stays open, usually standard error.
  static std::unique_ptr<LineWriter> for_descriptor(int descriptor, Options options);

  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  ~LineWriter();

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

}  // namespace karmad
