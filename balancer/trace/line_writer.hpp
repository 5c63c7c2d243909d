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

/// Lines for a file, standard output or standard error, written by a thread of its own. A caller
/// leaves its line in a buffer and goes on; a line that finds no room there, or cannot be written,
/// is dropped and counted. The lock is held for the copy of a line, never during a system call that
/// writes. Every member may be called by any thread.
class LineWriter {
 public:
  static constexpr std::size_t kRoom = 4 << 20;  // some ten thousand lines

  struct Options {
    std::size_t room = kRoom;  ///< bytes that may wait to be written
    /// How long a line may wait for others, so that few of them wake the thread. 64 KiB (half the
    /// room, where that is less) are written at once.
    std::chrono::milliseconds gather{20};
    /// The writer's thread calls it when writing begins to fail: why, and what follows from it.
    std::function<void(const std::string& why)> on_failure;
    /// The writer's thread calls it when lines are written again after some were dropped. What it
    /// returns is the next line; nothing if that is empty.
    std::function<std::string(std::uint64_t dropped)> on_recovery;
  };

  /// `path`: of the file that lines are added to, or `-` for standard output. On failure: what went
  /// wrong.
  static std::expected<std::unique_ptr<LineWriter>, std::string> open(std::string path,
                                                                      Options options);
  static std::expected<std::unique_ptr<LineWriter>, std::string> open(std::string path) {
    return open(std::move(path), Options());
  }
  /// For a descriptor of this process, which stays open: standard error, as a rule.
  static std::unique_ptr<LineWriter> for_descriptor(int descriptor, Options options);

  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  ~LineWriter();

  /// `line` is without its line end. Does not wait.
  void write(std::string_view line);
  /// Goes on in a file of the same name, which may be a new one by then.
  void reopen();
  /// Waits until the lines so far are written or dropped, a second at most.
  void flush();
  /// Writes what is left for at most a second; lines that come later are dropped. Takes two seconds
  /// at most, whatever the file does.
  void end();

  std::uint64_t written() const;
  std::uint64_t dropped() const;

 private:
  class Output;
  struct State;
  explicit LineWriter(std::shared_ptr<State> state);
  static void run(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  ///< the thread's, too, which a stuck write keeps alive
  std::thread thread_;
};

/// None: all zero.
void write(StatsWriter& out, const LineWriter* log);

}  // namespace karmad
