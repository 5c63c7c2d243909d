#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace karmad {

/// Lines for a file or standard output, written by a thread of its own. Whoever has a line leaves
/// it in a buffer and goes on; what finds no room there, or cannot be written, is dropped and
/// counted. The lock is held for the copy of a line, never while anything is written. Lines are
/// written some at a time, so that hardly one of them wakes the thread: when 64 KiB have gathered
/// (half the room, where that is less), and 20 ms after the first at the latest.
class AccessLog {
 public:
  static constexpr std::size_t kRoom = 4 << 20;  // some ten thousand lines

  /// `path`: of the file that lines are added to, or `-` for standard output. On failure: what went
  /// wrong.
  static std::expected<std::unique_ptr<AccessLog>, std::string> open(std::string path,
                                                                     std::size_t room = kRoom);
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;
  /// Writes what is left, as long as that takes no longer than a second.
  ~AccessLog();

  /// From any thread; does not wait for the file. `line` is without its end.
  void write(std::string_view line);
  /// Goes on in a file of the same name, which may be a new one by then. From any thread.
  void reopen();

  std::uint64_t written() const { return written_.load(std::memory_order_relaxed); }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Lines {
    std::string bytes;
    std::uint64_t count = 0;
  };

  AccessLog(std::string path, int file, std::size_t room);
  void run();
  void write_out(const Lines& lines);
  bool write_all(std::string_view bytes);
  bool wait_for_room();
  void open_again();

  const std::string path_;
  const std::size_t room_;
  const std::size_t enough_;  ///< bytes that the thread writes at once
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<bool> ending_{false};

  std::mutex mutex_;  ///< of the next three
  std::condition_variable news_;
  Lines waiting_;
  bool reopen_ = false;

  // The thread's own.
  int file_;
  bool regular_ = false;
  bool trouble_ = false;  ///< the last writing failed, and that was said
  bool torn_ = false;     ///< it left a piece of a line
  std::optional<std::chrono::steady_clock::time_point> give_up_;  ///< once the log ends
  std::thread thread_;
};

}  // namespace karmad
