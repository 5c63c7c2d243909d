#include "tests/support/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace karmad::test {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds left(Clock::time_point end) {
  return std::max(0ms, std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()));
}

/// The exit status, or the negative number of the signal.
int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool has_crashed(int code) {
  return code == -SIGSEGV || code == -SIGABRT || code == -SIGBUS || code == -SIGILL ||
         code == -SIGFPE;
}

}  // namespace

std::string karmad_program() {
  const char* given = std::getenv("KARMAD_PROGRAM");
  return given != nullptr ? given : KARMAD_BINARY_DIR "/karmad";
}

bool karmad_is_sanitized() {
  return std::getenv("ASAN_OPTIONS") != nullptr || std::getenv("TSAN_OPTIONS") != nullptr;
}

Process::Process(const std::string& program, const std::vector<std::string>& arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const auto path = program == "karmad"                      ? karmad_program()
                    : program.find('/') != std::string::npos ? program
                                                             : KARMAD_BINARY_DIR "/" + program;
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  const int failed = ::posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  pipe_ = ends[0];
  if (failed != 0) throw std::runtime_error("cannot start " + path);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      closed_(other.closed_),
      output_(std::move(other.output_)),
      ended_(other.ended_) {}

Process::~Process() {
  if (pid_ <= 0) return;
  if (!ended_) {
    ::kill(pid_, SIGKILL);  // has no effect on one that has ended by itself
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ended_ = code_of(status);
  }
  pollfd poll{pipe_, POLLIN, 0};
  while (!closed_ && ::poll(&poll, 1, 0) > 0) read_for(0ms);
  if (has_crashed(*ended_) || output_.contains("Sanitizer: ") ||
      output_.contains("runtime error: "))
    ADD_FAILURE() << "process " << pid_ << " ended with " << *ended_ << ": " << output_;
  ::close(pipe_);
}

void Process::signal(int number) const {
  if (pid_ <= 0 || ended_) return;
  ::kill(pid_, number);
  siginfo_t info;
  if (number == SIGSTOP)
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT);
}

std::int64_t Process::memory(std::string_view key) const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string word; status >> word;)
    if (std::int64_t kilobytes = 0; word == key && status >> kilobytes) return kilobytes << 10;
  return 0;
}

void Process::read_for(std::chrono::milliseconds longest) {
  if (closed_) return nap();
  pollfd poll{pipe_, POLLIN, 0};
  if (::poll(&poll, 1, static_cast<int>(longest.count())) <= 0) return;
  char bytes[4096];
  const auto n = ::read(pipe_, bytes, sizeof bytes);
  if (n > 0) output_.append(bytes, static_cast<std::size_t>(n));
  if (n <= 0) closed_ = true;
}

std::optional<std::string> Process::wait_for(const std::string& text,
                                             std::chrono::milliseconds longest) {
  const auto end = Clock::now() + longest;
  for (std::size_t looked = 0;;) {
    for (auto line_end = output_.find('\n', looked); line_end != std::string::npos;
         line_end = output_.find('\n', looked)) {
      const auto line = output_.substr(looked, line_end - looked);
      looked = line_end + 1;
      if (line.find(text) != std::string::npos) return line;
    }
    if (closed_ || left(end) == 0ms) return std::nullopt;
    read_for(left(end));
  }
}

std::optional<int> Process::wait(std::chrono::milliseconds longest) {
  const auto end = Clock::now() + longest;
  while (!ended_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) ended_ = code_of(status);
    if (ended_ || left(end) == 0ms) break;
    read_for(std::min(left(end), 10ms));
  }
  while (ended_ && !closed_) read_for(100ms);
  return ended_;
}

const std::string& Process::output() {
  read_for(0ms);
  return output_;
}

int port_in(const std::string& line) {
  return std::atoi(line.c_str() + line.rfind(':') + 1);
}

TempDir::TempDir() {
  auto name = (std::filesystem::temp_directory_path() / "karmad-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::file(const std::string& name, const std::string& content) const {
  const auto path = path_ + "/" + name;
  std::ofstream(path) << content;
  return path;
}

void nap() {
  ::poll(nullptr, 0, 5);
}

}  // namespace karmad::test
