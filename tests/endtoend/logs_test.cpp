// The logs never hold anything up, and are opened anew when that is asked for.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kQuery = R"({"table":"t"})";

std::string table(const FakeMirror& mirror) {
  return fmt::format("table t {{\n type = distributed\n agent = {}:t\n}}\n", mirror.address());
}

/// Whether the process has ended, without a look at its output.
bool has_ended(const Process& process) {
  siginfo_t found{};
  return ::waitid(P_PID, static_cast<id_t>(process.pid()), &found, WEXITED | WNOHANG | WNOWAIT) ==
             0 &&
         found.si_pid == process.pid();
}

// Nothing reads the pipe that is its standard error, which has room for 64 KiB.
TEST(TheLog, ThatIsNotReadHoldsNothingUp) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Master master("workers = 1\n selection_log_level = debug", table(mirror));
  ASSERT_TRUE(master.ready());
  HttpClient client(master.port());
  const auto fields = fmt::format("X-Read-Preference: nearest\r\nX-Unused: {}\r\n", 1);
  for (int i = 0; i < 1000; ++i) {
    const auto answer = client.request("POST", "/search", kQuery, fields);
    ASSERT_TRUE(answer) << i;
    ASSERT_EQ(answer->status, 200) << answer->body;
  }
  EXPECT_EQ(get(master.port(), "/healthz").status, 200);
  EXPECT_LT(master.count("log_written"), 1000) << "the pipe was not full";
  EXPECT_EQ(master.count("log_dropped"), 0);
  // A reader that starts again gets every line.
  EXPECT_TRUE(eventually([&] {
    master.process().output();
    return master.count("log_written") > 2000;
  }));
}

TEST(TheLog, ThatIsNotReadDoesNotKeepTheProcess) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Master master("selection_log_level = debug", table(mirror));
  ASSERT_TRUE(master.ready());
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(master.search(kQuery, "X-Read-Preference: nearest\r\n").status, 200);
  master.process().signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return has_ended(master.process()); }));
  EXPECT_EQ(master.process().wait(), 0);
}

TEST(TheLog, ThatIsReadIsWholeAtTheEnd) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Master master("selection_log_level = debug", table(mirror));
  ASSERT_TRUE(master.ready());
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(master.search(kQuery, "X-Read-Preference: nearest\r\n").status, 200);
  master.process().signal(SIGTERM);
  EXPECT_EQ(master.process().wait(), 0);
  const auto& log = master.process().output();
  std::size_t selections = 0;
  for (auto at = log.find("selection succeeded"); at != log.npos;
       at = log.find("selection succeeded", at + 1))
    ++selections;
  EXPECT_EQ(selections, 20u) << log;
  EXPECT_TRUE(log.ends_with("stopped\n")) << log;
}

TEST(TheAccessLog, IsReopenedByUsr1AndUsr2IsOnlyLogged) {
  const TempDir folder;
  const auto path = folder.path() + "/access";
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Master master("access_log = " + path, table(mirror));
  ASSERT_TRUE(master.ready());
  ASSERT_EQ(master.search(kQuery).status, 200);
  const auto has_lines = [&](const std::string& file) {
    return std::ifstream(file).peek() != std::ifstream::traits_type::eof();
  };
  ASSERT_TRUE(eventually([&] { return has_lines(path); }));
  ASSERT_EQ(::rename(path.c_str(), (path + ".1").c_str()), 0);
  master.process().signal(SIGUSR2);
  master.process().signal(SIGUSR1);
  ASSERT_TRUE(eventually([&] { return ::access(path.c_str(), F_OK) == 0; }));
  ASSERT_EQ(master.search(kQuery).status, 200);
  EXPECT_TRUE(eventually([&] { return has_lines(path); }));
  EXPECT_TRUE(eventually([&] {
    const auto& log = master.process().output();
    return log.contains("USR1: reopening the access log") &&
           log.contains("USR2: this signal has no effect");
  }));
}

TEST(TheLog, SaysAfterUsr1ThatThereIsNoAccessLog) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Master master("", table(mirror));
  ASSERT_TRUE(master.ready());
  master.process().signal(SIGUSR1);
  EXPECT_TRUE(eventually(
      [&] { return master.process().output().contains("USR1: there is no access log"); }));
  EXPECT_EQ(master.search(kQuery).status, 200);
}

}  // namespace
}  // namespace karmad::test
