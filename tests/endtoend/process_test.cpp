// What the tests see of a program that ends badly.
#include "tests/support/process.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace karmad::test {
namespace {

void run_script(const std::string& script, bool wait) {
  Process process("/bin/bash", {"-c", script + "; echo done"});
  if (wait)
    process.wait();
  else
    process.wait_for("done");
}

TEST(AProcess, ThatCrashesFailsItsTest) {
  EXPECT_NONFATAL_FAILURE(run_script("kill -SEGV $$", true), "ended with -11");
  EXPECT_NONFATAL_FAILURE(run_script("kill -ABRT $$", false), "ended with -6");
}

TEST(AProcess, WithAReportOfASanitizerFailsItsTest) {
  EXPECT_NONFATAL_FAILURE(run_script("echo 'WARNING: ThreadSanitizer: data race'", true),
                          "data race");
  EXPECT_NONFATAL_FAILURE(run_script("echo 'a.cpp:1:2: runtime error: shift'", false), "shift");
}

TEST(AProcess, ThatEndsOrIsEndedFailsNothing) {
  run_script("true", true);
  run_script("exit 3", true);
  run_script("echo done; sleep 100", false);
}

}  // namespace
}  // namespace karmad::test
