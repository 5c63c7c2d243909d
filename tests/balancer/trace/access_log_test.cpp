#include "balancer/trace/access_log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace karmad {
namespace {

namespace fs = std::filesystem;

struct AnAccessLog : testing::Test {
  AnAccessLog() {
    std::string name = (fs::temp_directory_path() / "access_log_XXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  ~AnAccessLog() override { fs::remove_all(folder); }

  std::string path(const char* name = "log") const { return (folder / name).string(); }
  static std::string content(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static std::unique_ptr<AccessLog> opened(const std::string& file,
                                           std::size_t room = AccessLog::kRoom) {
    auto log = AccessLog::open(file, room);
    EXPECT_TRUE(log) << log.error();
    return *std::move(log);
  }
  /// Waits for the thread, as long as the test may take.
  static void await(const AccessLog& log, std::uint64_t lines) {
    while (log.written() + log.dropped() < lines) std::this_thread::yield();
  }

  fs::path folder;
};

TEST_F(AnAccessLog, WritesWhatItWasGivenBeforeItEnds) {
  {
    const auto log = opened(path());
    log->write("one");
    log->write("two");
  }
  EXPECT_EQ(content(path()), "one\ntwo\n");
}

TEST_F(AnAccessLog, AddsToAFileThatIsThere) {
  std::ofstream(path()) << "zero\n";
  opened(path())->write("one");
  EXPECT_EQ(content(path()), "zero\none\n");
}

TEST_F(AnAccessLog, CountsWhatItWroteAndKeepsLinesOfAllThreadsWhole) {
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

TEST_F(AnAccessLog, DropsAndCountsWhatFindsNoRoom) {
  const auto log = opened(path(), 100);
  log->write(std::string(100, 'x'));
  EXPECT_EQ(log->dropped(), 1U);
  log->write(std::string(99, 'x'));
  await(*log, 2);
  EXPECT_EQ(log->written(), 1U);
}

TEST_F(AnAccessLog, GoesOnInANewFileWhenTheOldOneWasRenamed) {
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

TEST_F(AnAccessLog, GoesOnInTheOldFileWhenThereCanBeNoNewOne) {
  fs::create_directory(path("a"));
  const auto log = opened(path("a/log"));
  fs::rename(path("a"), path("b"));
  log->reopen();
  log->write("line");
  await(*log, 1);
  EXPECT_EQ(content(path("b/log")), "line\n");
}

TEST_F(AnAccessLog, SaysWhyItCannotBeOpened) {
  const auto missing = AccessLog::open(path("none/log"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), "No such file or directory");
  const auto directory = AccessLog::open(folder.string());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error(), "Is a directory");
}

TEST_F(AnAccessLog, CountsWhatTheDiskDidNotTake) {
  const auto log = opened("/dev/full");
  log->write("line");
  await(*log, 1);
  EXPECT_EQ(log->dropped(), 1U);
}

TEST_F(AnAccessLog, NeitherWaitsForAReaderWhoDoesNotReadNorEndsForHim) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(AccessLog::open(path())) << "nobody reads";
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

}  // namespace
}  // namespace karmad
