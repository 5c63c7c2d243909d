#include "balancer/trace/line_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace karmad {
namespace {

namespace fs = std::filesystem;

struct ALineWriter : testing::Test {
  ALineWriter() {
    std::string name = (fs::temp_directory_path() / "line_writer_XXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  ~ALineWriter() override { fs::remove_all(folder); }

  std::string path(const char* name = "log") const { return (folder / name).string(); }
  static std::string content(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static std::unique_ptr<LineWriter> opened(const std::string& file,
                                            std::size_t room = LineWriter::kRoom) {
    auto log = LineWriter::open(file, {.room = room});
    EXPECT_TRUE(log) << log.error();
    return *std::move(log);
  }
  /// Waits for the thread, as long as the test may take.
  static void await(const LineWriter& log, std::uint64_t lines) {
    while (log.written() + log.dropped() < lines) std::this_thread::yield();
  }

  fs::path folder;
};

TEST_F(ALineWriter, WritesWhatItWasGivenBeforeItEnds) {
  {
    const auto log = opened(path());
    log->write("one");
    log->write("two");
  }
  EXPECT_EQ(content(path()), "one\ntwo\n");
}

TEST_F(ALineWriter, AddsToAFileThatIsThere) {
  std::ofstream(path()) << "zero\n";
  opened(path())->write("one");
  EXPECT_EQ(content(path()), "zero\none\n");
}

TEST_F(ALineWriter, CountsWhatItWroteAndKeepsLinesOfAllThreadsWhole) {
  constexpr int kLines = 5000;
  const std::string line(100, 'x');
  const auto log = opened(path());
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < kLines; ++i) log->write(line);
      });
  }
  await(*log, 4 * kLines);
  EXPECT_EQ(log->written(), 4U * kLines);
  std::istringstream text(content(path()));
  int found = 0;
  for (std::string each; std::getline(text, each); ++found) ASSERT_EQ(each, line);
  EXPECT_EQ(found, 4 * kLines);
}

TEST_F(ALineWriter, DropsAndCountsWhatFindsNoRoom) {
  const auto log = opened(path(), 100);
  log->write(std::string(100, 'x'));
  EXPECT_EQ(log->dropped(), 1U);
  log->write(std::string(99, 'x'));
  await(*log, 2);
  EXPECT_EQ(log->written(), 1U);
}

TEST_F(ALineWriter, GoesOnInANewFileWhenTheOldOneWasRenamed) {
  const auto log = opened(path());
  log->write("old");
  await(*log, 1);
  fs::rename(path(), path("log.1"));
  log->reopen();
  log->write("new");
  await(*log, 2);
  EXPECT_EQ(content(path("log.1")), "old\n");
  EXPECT_EQ(content(path()), "new\n");
}

TEST_F(ALineWriter, GoesOnInTheOldFileWhenThereCanBeNoNewOne) {
  fs::create_directory(path("a"));
  const auto log = opened(path("a/log"));
  fs::rename(path("a"), path("b"));
  log->reopen();
  log->write("line");
  await(*log, 1);
  EXPECT_EQ(content(path("b/log")), "line\n");
}

TEST_F(ALineWriter, SaysWhyItCannotBeOpened) {
  const auto missing = LineWriter::open(path("none/log"), {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), "No such file or directory");
  const auto directory = LineWriter::open(folder.string(), {});
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error(), "Is a directory");
}

TEST_F(ALineWriter, CountsWhatTheDiskDidNotTake) {
  const auto log = opened("/dev/full");
  log->write("line");
  await(*log, 1);
  EXPECT_EQ(log->dropped(), 1U);
}

TEST_F(ALineWriter, NeitherWaitsForAReaderThatStopsNorEnds) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(LineWriter::open(path(), {})) << "a pipe without a reader";
  const int reader = ::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  {
    const auto log = opened(path(), 1 << 20);
    const std::string line(1000, 'x');
    for (int i = 0; i < 5000; ++i) log->write(line);
    EXPECT_GT(log->dropped(), 0U);
  }
  ::close(reader);
}

/// A pipe like the one that a process gets as its standard error.
struct APipe {
  APipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~APipe() {
    for (const int end : ends) ::close(end);
  }
  std::string line() {
    std::string text;
    for (char c = 0; ::read(ends[0], &c, 1) == 1 && c != '\n';) text.push_back(c);
    return text;
  }
  int ends[2];
};

TEST_F(ALineWriter, ReportsDroppedLinesOnceItIsReadAgain) {
  APipe pipe;
  const auto log = LineWriter::for_descriptor(
      pipe.ends[1], {.room = 64 << 10, .gather = {}, .on_recovery = [](std::uint64_t dropped) {
                       return "dropped " + std::to_string(dropped);
                     }});
  const std::string line(1000, 'x');
  std::uint64_t given = 0;
  while (log->dropped() < 100) {
    log->write(line);
    ++given;
  }
  // The writer may report some of them before the last one was dropped.
  std::uint64_t read = 0;
  std::uint64_t reported = 0;
  while (read + reported < given) {
    const auto next = pipe.line();
    if (next == line) {
      ++read;
    } else {
      ASSERT_TRUE(next.starts_with("dropped ")) << next;
      reported += std::stoull(next.substr(8));
    }
  }
  EXPECT_EQ(reported, log->dropped());
  EXPECT_EQ(read + reported, given);
  log->write("after");
  EXPECT_EQ(pipe.line(), "after");
}

// The flags of a pipe are shared with every other process that writes to it.
TEST_F(ALineWriter, LeavesTheDescriptorItIsGivenAsItIs) {
  APipe pipe;
  const auto log = LineWriter::for_descriptor(pipe.ends[1], {});
  EXPECT_EQ(::fcntl(pipe.ends[1], F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(ALineWriter, EndsAlthoughItsPipeIsNotRead) {
  APipe pipe;
  const auto log = LineWriter::for_descriptor(pipe.ends[1], {});
  for (int i = 0; i < 200; ++i) log->write(std::string(1000, 'x'));
  const auto began = std::chrono::steady_clock::now();
  log->end();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  // A pipe takes 64 KiB; that much can be written before all lines are there.
  EXPECT_LE(log->written(), 65U);
  EXPECT_EQ(log->written() + log->dropped(), 200U);
  const auto dropped = log->dropped();
  log->write("late");
  EXPECT_EQ(log->dropped(), dropped + 1);
}

// Neither a pipe nor a file: as under systemd.
TEST_F(ALineWriter, WritesToASocketWithoutWaiting) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  {
    const auto log = LineWriter::for_descriptor(ends[1], {});
    log->write("one");
    log->flush();
    EXPECT_EQ(log->written(), 1U);
    std::array<char, 4> bytes{};
    EXPECT_EQ(::read(ends[0], bytes.data(), bytes.size()), 4);
    for (int i = 0; i < 2000; ++i) log->write(std::string(1000, 'x'));
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace karmad
