#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace karmad::test {

using namespace std::chrono_literals;

/// The karmad that is tested: KARMAD_PROGRAM, or else that of the build. So the same tests also try
/// a build with a sanitizer (.ci/sanitize), without the time that they themselves would take with
/// it.
std::string karmad_program();
/// Whether it has a sanitizer, by the environment, which then has options for it.
bool karmad_is_sanitized();
/// Whether the memory of a process is what it uses: sanitizers keep what is freed.
inline const bool kTrueSize = !karmad_is_sanitized();

/// How long a test waits for something that should happen soon. Sanitizers are slow.
inline constexpr std::chrono::seconds kSoon{30};

/// Asks until `condition` is true or the deadline has passed; the last answer.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds longest = kSoon);

/// A real program, started for a test: its output is collected, and it is gone when this is. The
/// test fails where the program crashed or a sanitizer reported something.
class Process {
 public:
  /// `program` stands in the build folder, unless it is a path.
  Process(const std::string& program, const std::vector<std::string>& arguments);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  Process(Process&& other) noexcept;
  ~Process();

  int pid() const { return pid_; }
  /// Resident bytes: now, and the most so far.
  std::int64_t memory() const { return memory("VmRSS:"); }
  std::int64_t most_memory() const { return memory("VmHWM:"); }
  /// After SIGSTOP all of its threads stand still.
  void signal(int number) const;
  void kill() { signal(SIGKILL); }

  /// Waits for a line of its output (both streams) that contains `text`; the line, or nothing when
  /// it ended or time was up.
  std::optional<std::string> wait_for(const std::string& text,
                                      std::chrono::milliseconds longest = kSoon);
  /// Waits for its end: the exit code, minus the signal that ended it, or nothing when time was up.
  std::optional<int> wait(std::chrono::milliseconds longest = kSoon);
  /// Everything it printed so far.
  const std::string& output();

 private:
  void read_for(std::chrono::milliseconds longest);
  std::int64_t memory(std::string_view key) const;

  int pid_ = -1;
  int pipe_ = -1;
  bool closed_ = false;
  std::string output_;
  std::optional<int> ended_;
};

/// The port at the end of `… 127.0.0.1:PORT`.
int port_in(const std::string& line);

/// A folder that goes with the test.
class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();
  /// Writes a file and returns its path.
  std::string file(const std::string& name, const std::string& content) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void nap();  // between two looks at a condition

template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  for (;;) {
    if (condition()) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    nap();
  }
}

}  // namespace karmad::test
