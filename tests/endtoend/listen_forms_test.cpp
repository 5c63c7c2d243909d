// Where karmad listens: every address, unix sockets with mode and owner.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

/// The whole answer to a GET on a new connection to that address.
std::string get_from(const sockaddr* address, socklen_t size, std::string_view target) {
  const int fd = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string answer;
  const auto request =
      fmt::format("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target);
  if (::connect(fd, address, size) == 0 &&
      ::send(fd, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size())) {
    std::array<char, 4096> bytes{};
    for (ssize_t got = 0; (got = ::recv(fd, bytes.data(), bytes.size(), 0)) > 0;)
      answer.append(bytes.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return answer;
}

std::string get_over_ipv6(int port, std::string_view target) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<std::uint16_t>(port));
  address.sin6_addr = in6addr_loopback;
  return get_from(reinterpret_cast<const sockaddr*>(&address), sizeof address, target);
}

std::string web_table(const FakeMirror& mirror) {
  return fmt::format(
      "table w {{\n type = distributed\n dialect = http\n route = /w\n agent = {}\n}}\n",
      mirror.address());
}

/// The port of the second listener.
int second_port(Master& master, const std::string& where) {
  const auto line = master.process().wait_for("listening on " + where);
  return line ? std::stoi(line->substr(line->rfind(':') + 1)) : 0;
}

TEST(ListenOnEveryAddress, GetsConnectionsOfBothFamiliesAndSeesIpv4Plain) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no [::1]";
  for (const auto* listen : {"*:0", "0"}) {
    const FakeMirror mirror(always(json("{}")), /*pings_too=*/true);
    Master master(fmt::format("listen = {}\n workers = 2\n ha_ping_interval = 0\n"
                              " client_request_rate = 1000\n ingress_request_exempt = 127.0.0.0/8",
                              listen),
                  web_table(mirror));
    const auto port = second_port(master, "*:");
    ASSERT_NE(port, 0);
    EXPECT_EQ(get(port, "/w").status, 200);
    EXPECT_TRUE(get_over_ipv6(port, "/w").starts_with("HTTP/1.1 200"));
    ASSERT_EQ(mirror.requests(), 2u);
    EXPECT_TRUE(mirror.seen()[0].contains("X-Forwarded-For: 127.0.0.1\r\n")) << mirror.seen()[0];
    EXPECT_TRUE(mirror.seen()[1].contains("X-Forwarded-For: ::1\r\n")) << mirror.seen()[1];
  }
}

TEST(ListenOnEveryAddress, CountsAClientOverIpv4AsThatClient) {
  const FakeMirror mirror(always(json("{}")), /*pings_too=*/true);
  Master master(
      "listen = *:0\n ha_ping_interval = 0\n client_request_rate = 1/d\n client_request_burst = 1d",
      web_table(mirror));
  const auto port = second_port(master, "*:");
  EXPECT_EQ(get(port, "/w").status, 200);
  EXPECT_EQ(get(port, "/w").status, 429);
  EXPECT_EQ(get(master.port(), "/w").status, 429) << "the same client at the IPv4 listener";
}

TEST(ListenOnEveryIpv6Address, GetsNoConnectionsOfIpv4) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no [::1]";
  const FakeMirror mirror(always(json("{}")));
  Master master("listen = [::]:0", web_table(mirror));
  const auto port = second_port(master, "[::]:");
  EXPECT_FALSE(HttpClient(port).connected());
  EXPECT_TRUE(get_over_ipv6(port, "/healthz").starts_with("HTTP/1.1 200"));
}

class UnixListener : public testing::Test {
 protected:
  TempDir dir;
  std::string socket = dir.path() + "/k.sock";
  FakeMirror mirror{always(json("{}"))};

  std::string settings(const std::string& more) const {
    return fmt::format("listen = {}\n{}", socket, more);
  }
  struct stat status() const {
    struct stat found {};
    ::stat(socket.c_str(), &found);
    return found;
  }
  std::string health() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket.copy(address.sun_path, sizeof address.sun_path - 1);
    return get_from(reinterpret_cast<const sockaddr*>(&address), sizeof address, "/healthz");
  }
  /// The output of a start that fails, and its exit code.
  std::pair<int, std::string> failed_start(const std::string& more) const {
    const auto path =
        dir.file("k.conf", fmt::format("searchd {{\n listen = 127.0.0.1:0\n{}\n}}\n{}",
                                       settings(more), web_table(mirror)));
    Process process("karmad", {"-c", path});
    const auto code = process.wait().value_or(-1);
    return {code, process.output()};
  }
};

TEST_F(UnixListener, IsForEveryoneByDefaultWhateverTheUmask) {
  Master master(settings(""), web_table(mirror));
  ASSERT_TRUE(master.process().wait_for("listening on " + socket));
  EXPECT_EQ(status().st_mode & 0777, 0666u);
  EXPECT_TRUE(health().starts_with("HTTP/1.1 200"));
}

TEST_F(UnixListener, ForTheOperatorIsForItsOwnerAloneByDefault) {
  socket += ":admin";
  Master master(settings(""), web_table(mirror));
  socket.resize(socket.size() - 6);
  ASSERT_TRUE(master.process().wait_for("listening on " + socket));
  EXPECT_EQ(status().st_mode & 0777, 0600u);
}

TEST_F(UnixListener, HasTheConfiguredModeAndOwner) {
  Master master(settings(fmt::format("listen_socket_mode = 0600\n listen_socket_owner = {}:{}",
                                     ::getuid(), ::getgid())),
                web_table(mirror));
  ASSERT_TRUE(master.process().wait_for("listening on " + socket));
  EXPECT_EQ(status().st_mode & 0777, 0600u);
  EXPECT_EQ(status().st_uid, ::getuid());
  EXPECT_EQ(status().st_gid, ::getgid());
  EXPECT_TRUE(health().starts_with("HTTP/1.1 200"));
}

TEST_F(UnixListener, GoesToAnotherUserIfThatIsAllowed) {
  if (::geteuid() != 0) {
    const auto [code, output] = failed_start("listen_socket_owner = 1:1");
    EXPECT_EQ(code, 71) << output;
    EXPECT_TRUE(output.contains("Operation not permitted")) << output;
    EXPECT_NE(::access(socket.c_str(), F_OK), 0) << "nothing is left behind";
    return;
  }
  Master master(settings("listen_socket_owner = 1:root"), web_table(mirror));
  ASSERT_TRUE(master.process().wait_for("listening on " + socket));
  EXPECT_EQ(status().st_uid, 1u);
  EXPECT_EQ(status().st_gid, 0u);
}

TEST_F(UnixListener, LeavesEverythingThatIsNoSocketAsItIs) {
  const auto notes = dir.file("notes", "precious");
  std::filesystem::create_directory(dir.path() + "/folder");
  std::filesystem::create_symlink("notes", dir.path() + "/link");
  ASSERT_EQ(::mkfifo((dir.path() + "/pipe").c_str(), 0600), 0);
  for (const auto* name : {"notes", "folder", "link", "pipe"}) {
    socket = dir.path() + "/" + name;
    const auto kind = std::filesystem::symlink_status(socket).type();
    const auto [code, output] = failed_start("");
    EXPECT_EQ(code, 71) << output;
    EXPECT_TRUE(output.contains("k.conf:3:")) << output;
    EXPECT_TRUE(output.contains("a file that is not a socket is there; it stays")) << output;
    EXPECT_EQ(std::filesystem::symlink_status(socket).type(), kind);
  }
  EXPECT_EQ(std::filesystem::file_size(notes), 8u);
}

TEST_F(UnixListener, ReplacesASocketThatAKilledProcessLeftBehind) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  const int left = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(left);
  Master master(settings(""), web_table(mirror));
  ASSERT_TRUE(master.process().wait_for("listening on " + socket));
  EXPECT_TRUE(health().starts_with("HTTP/1.1 200"));
}

TEST_F(UnixListener, RefusesWhatIsNoModeAndNoOwnerWithThePlace) {
  for (const auto& [line, why] :
       {std::pair("listen_socket_mode = 999", "'999' is not a mode"),
        {"listen_socket_mode = 4755", "'4755' is not a mode"},
        {"listen_socket_mode = rw", "'rw' is not a mode"},
        {"listen_socket_owner = no_such_user", "this system has no user 'no_such_user'"},
        {"listen_socket_owner = 0:no_such_group", "this system has no group 'no_such_group'"},
        {"listen_socket_owner = 4294967295", "is not the number of a user"},
        {"listen_socket_owner = 0:", "the name of a group is missing"}}) {
    const auto [code, output] = failed_start(line);
    EXPECT_EQ(code, 78) << line;
    EXPECT_TRUE(output.contains("k.conf:4:")) << output;
    EXPECT_TRUE(output.contains(why)) << output;
  }
}

}  // namespace
}  // namespace karmad::test
