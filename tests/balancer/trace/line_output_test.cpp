#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "balancer/trace/line_writer.hpp"

namespace karmad {
namespace {

TEST(LineOutput, BeginsAMessageAsSyslogDoes) {
  const auto head = syslog_head(1700000000, 123);
  EXPECT_TRUE(head.starts_with("<30>Nov 1")) << head;  // the 14th or 15th, by the time zone
  EXPECT_TRUE(head.ends_with(":20 karmad[123]: ")) << head;
  EXPECT_EQ(head.size(), std::string_view("<30>Nov 14 22:13:20 karmad[123]: ").size());
}

TEST(LineOutput, KnowsWhichTargetsCanBeReopened) {
  for (const auto* target : {"", "-", "stdout"}) EXPECT_FALSE(can_be_reopened(target)) << target;
  for (const auto* target : {"a", "./stdout", "syslog", "syslog:/run/log"})
    EXPECT_TRUE(can_be_reopened(target)) << target;
}

/// The socket of a system log.
class SystemLog {
 public:
  explicit SystemLog(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ::unlink(path.c_str());
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  SystemLog(const SystemLog&) = delete;
  SystemLog& operator=(const SystemLog&) = delete;
  ~SystemLog() { ::close(socket_); }

  /// The next message, without its head.
  std::string message() const {
    std::array<char, 1024> bytes;
    const auto size = ::recv(socket_, bytes.data(), bytes.size(), 0);
    const std::string text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    EXPECT_TRUE(text.starts_with("<30>")) << text;
    return text.substr(std::min(text.size(), text.find("]: ") + 3));
  }

 private:
  int socket_;
};

struct ASystemLog : ::testing::Test {
  ASystemLog() {
    std::string name = (std::filesystem::temp_directory_path() / "syslog_XXXXXX").string();
    folder = ::mkdtemp(name.data());
    path = folder / "log";
  }
  ~ASystemLog() override { std::filesystem::remove_all(folder); }

  std::filesystem::path folder;
  std::string path;
};

TEST_F(ASystemLog, GetsEachLineAsAMessage) {
  const SystemLog log(path);
  const auto writer = LineWriter::open("syslog:" + path, {});
  ASSERT_TRUE(writer) << writer.error();
  (*writer)->write("one");
  (*writer)->write("two");
  EXPECT_EQ(log.message(), "one");
  EXPECT_EQ(log.message(), "two");
}

TEST_F(ASystemLog, IsFoundAgainAfterItsRestart) {
  auto first = std::make_unique<SystemLog>(path);
  const auto writer = LineWriter::open("syslog:" + path, {.gather = {}});
  ASSERT_TRUE(writer) << writer.error();
  first.reset();
  (*writer)->write("lost");
  (*writer)->flush();
  EXPECT_EQ((*writer)->dropped(), 1U);
  const SystemLog second(path);
  (*writer)->write("lost, and the new socket is found");
  (*writer)->flush();
  EXPECT_EQ((*writer)->dropped(), 2U);
  (*writer)->write("received");
  EXPECT_EQ(second.message(), "received");
}

TEST_F(ASystemLog, ThatIsMissingIsAnError) {
  EXPECT_FALSE(LineWriter::open("syslog:" + path, {}));
  EXPECT_FALSE(LineWriter::open("syslog:" + std::string(200, 'x'), {}));
}

}  // namespace
}  // namespace karmad
