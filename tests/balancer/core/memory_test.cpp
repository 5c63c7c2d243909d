#include "balancer/core/memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace karmad {
namespace {

constexpr std::uint64_t kMega = 1 << 20;

class MemoryAvailable : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "karmad_memory_" + std::to_string(::getpid());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file(root_ + path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  std::string root_;
};

TEST_F(MemoryAvailable, IsThatOfTheMachineUnlessAGroupHasLess) {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto machine = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(memory_available(root_), machine);
  write("/proc/self/cgroup", "0::/service");
  write("/sys/fs/cgroup/service/memory.max", "max");
  EXPECT_EQ(memory_available(root_), machine);
  write("/sys/fs/cgroup/service/memory.max", "99999999999999999");
  EXPECT_EQ(memory_available(root_), machine);
}

TEST_F(MemoryAvailable, IsTheLeastOfTheGroupAndThoseAroundIt) {
  write("/proc/self/cgroup", "0::/slice/service");
  write("/sys/fs/cgroup/slice/service/memory.max", "67108864");
  EXPECT_EQ(memory_available(root_), 64 * kMega);
  write("/sys/fs/cgroup/slice/memory.max", "33554432");
  EXPECT_EQ(memory_available(root_), 32 * kMega);
}

TEST_F(MemoryAvailable, StandsAtTheTopInAContainer) {
  write("/proc/self/cgroup", "0::/docker/0123abc");
  write("/sys/fs/cgroup/memory.max", "67108864");
  EXPECT_EQ(memory_available(root_), 64 * kMega);
}

TEST_F(MemoryAvailable, IsReadFromVersionOneToo) {
  write("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a/b\n1:name=systemd:/a");
  write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "67108864");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(memory_available(root_), 64 * kMega);
}

TEST(MemoryLimitOf, IsHalfOfItUnlessSaid) {
  EXPECT_EQ(memory_limit_of({}, 64 * kMega), 32 * kMega);
  EXPECT_EQ(memory_limit_of({.automatic = false, .bytes = 0}, 64 * kMega), 0U);
  EXPECT_EQ(memory_limit_of({.automatic = false, .bytes = 100 * kMega}, 64 * kMega), 100 * kMega);
}

/// Of this process, in KB: pages of files that are mapped.
std::uint64_t mapped_of_files() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;)
    if (std::uint64_t size = 0; name == "RssFile:" && status >> size) return size;
  return 0;
}

TEST(ReleaseMemoryOfStart, LeavesWhatIsUsed) {
  const auto before = mapped_of_files();
  release_memory_of_start();
  EXPECT_LT(mapped_of_files(), before);
  EXPECT_EQ(memory_limit_of({}, 64 * kMega), 32 * kMega);
}

}  // namespace
}  // namespace karmad
