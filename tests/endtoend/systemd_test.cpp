// karmad as a service of systemd, whose sockets are those of the test.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

/// The socket of NOTIFY_SOCKET.
class NotifySocket {
 public:
  /// A path, or an abstract name after `@`.
  explicit NotifySocket(const std::string& name)
      : name_(name), fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = offsetof(sockaddr_un, sun_path) + name.size();
    EXPECT_EQ(
        ::bind(fd_, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)), 0);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  ~NotifySocket() { ::close(fd_); }

  const std::string& name() const { return name_; }
  /// The next message with this text; empty: none came in time.
  std::string wait_for(const std::string& text) {
    std::string message;
    eventually([&] {
      message = next();
      return message.contains(text);
    });
    return message;
  }
  /// The next message with descriptors; they are added to `into`, above those of redirections.
  std::string next_with_descriptors(std::vector<int>& into) const {
    pollfd wait{fd_, POLLIN, 0};
    std::string message(4096, '\0');
    if (::poll(&wait, 1, static_cast<int>(std::chrono::milliseconds(kSoon).count())) <= 0)
      return {};
    iovec piece{message.data(), message.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(200 * sizeof(int))];
    msghdr head{};
    head.msg_iov = &piece;
    head.msg_iovlen = 1;
    head.msg_control = control;
    head.msg_controllen = sizeof control;
    const auto size = ::recvmsg(fd_, &head, MSG_DONTWAIT);
    message.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    for (auto* part = CMSG_FIRSTHDR(&head); part != nullptr; part = CMSG_NXTHDR(&head, part))
      for (std::size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
        into.push_back(::fcntl(fd, F_DUPFD, 100));
        ::close(fd);
      }
    return message;
  }
  /// The next message; empty: none came in time.
  std::string next(std::chrono::milliseconds longest = kSoon) const {
    pollfd wait{fd_, POLLIN, 0};
    std::string message(4096, '\0');
    if (::poll(&wait, 1, static_cast<int>(longest.count())) <= 0) return {};
    const auto size = ::recv(fd_, message.data(), message.size(), MSG_DONTWAIT);
    message.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return message;
  }

 private:
  std::string name_;
  int fd_;
};

/// karmad with these variables and redirections, as a shell writes them.
Process started_with(const std::string& variables, const std::string& config,
                     const std::string& more = "") {
  return {"/bin/bash",
          {"-c", fmt::format(R"({} exec "{}" --config "{}" {})", variables, karmad_program(),
                             config, more)}};
}

std::string service_config(const FakeMirror& mirror, const std::string& searchd) {
  return fmt::format("searchd {{\n {}\n}}\ntable t {{\n type = distributed\n agent = {}\n}}\n",
                     searchd, mirror.address());
}

TEST(NotifyService, TellsReadyReloadingAndStopping) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const TempDir dir;
  for (const auto& name : {dir.path() + "/notify", fmt::format("@karmad-test-{}", ::getpid())}) {
    NotifySocket systemd(name);
    const auto text = service_config(mirror, "listen = 127.0.0.1:0");
    const auto config = dir.file("k.conf", text);
    auto process = started_with("NOTIFY_SOCKET=" + name, config);
    const auto ready = systemd.wait_for("READY=1");
    EXPECT_TRUE(ready.contains("STATUS=serving 1 table at 127.0.0.1:")) << ready;
    EXPECT_FALSE(ready.contains("MAINPID"));
    process.signal(SIGHUP);
    const auto reloading = systemd.next();
    EXPECT_TRUE(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC=")) << reloading;
    EXPECT_TRUE(systemd.next().starts_with("READY=1\n"));
    dir.file("k.conf", text + "wrong");
    process.signal(SIGHUP);
    EXPECT_TRUE(systemd.next().starts_with("RELOADING=1\n"));
    const auto failed = systemd.next();
    EXPECT_TRUE(failed.starts_with("READY=1\nSTATUS=the configuration has errors")) << failed;
    process.signal(SIGTERM);
    EXPECT_TRUE(systemd.next().starts_with("STOPPING=1\n"));
    EXPECT_EQ(process.wait(), 0) << process.output();
  }
}

/// Many of the intervals that the tests set.
constexpr auto kQuiet = std::chrono::seconds(1);

TEST(NotifyService, GivesSignsOfLifeAtHalfOfTheInterval) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const TempDir dir;
  NotifySocket systemd(dir.path() + "/notify");
  auto process = started_with(
      "NOTIFY_SOCKET=" + systemd.name() + " WATCHDOG_USEC=200000 WATCHDOG_PID=$$",
      dir.file("k.conf", service_config(mirror, "listen = 127.0.0.1:0\n workers = 3")));
  ASSERT_NE(systemd.wait_for("READY=1"), "");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(systemd.next(), "WATCHDOG=1\n");
  process.signal(SIGSTOP);  // all threads hang
  while (systemd.next(kQuiet) == "WATCHDOG=1\n") continue;
  EXPECT_EQ(systemd.next(kQuiet), "");
  process.signal(SIGCONT);
  EXPECT_EQ(systemd.wait_for("WATCHDOG=1"), "WATCHDOG=1\n");
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 0) << process.output();
}

/// Stops all threads of a process except its main thread while this lives.
class HungThreads {
 public:
  explicit HungThreads(int pid) {
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
      const int thread = std::atoi(entry.path().filename().c_str());
      if (thread == pid || ::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) continue;
      ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
      ::waitpid(thread, nullptr, __WALL);
      threads_.push_back(thread);
    }
  }
  HungThreads(const HungThreads&) = delete;
  HungThreads& operator=(const HungThreads&) = delete;
  ~HungThreads() {
    for (const int thread : threads_) ::ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
  }
  bool any() const { return !threads_.empty(); }

 private:
  std::vector<int> threads_;
};

TEST(NotifyService, GivesNoSignOfLifeWhileItsWorkersHang) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const TempDir dir;
  NotifySocket systemd(dir.path() + "/notify");
  auto process = started_with(
      "NOTIFY_SOCKET=" + systemd.name() + " WATCHDOG_USEC=200000",
      dir.file("k.conf", service_config(mirror, "listen = 127.0.0.1:0\n workers = 2")));
  ASSERT_EQ(systemd.wait_for("WATCHDOG=1"), "WATCHDOG=1\n");
  {
    const HungThreads hung(process.pid());
    if (!hung.any()) GTEST_SKIP() << "ptrace is not allowed here";
    while (systemd.next(kQuiet) == "WATCHDOG=1\n") continue;
    process.signal(SIGHUP);  // the main thread still works
    EXPECT_TRUE(systemd.next().starts_with("RELOADING=1\n"));
    EXPECT_EQ(systemd.next(kQuiet), "");
  }
  EXPECT_EQ(systemd.wait_for("WATCHDOG=1"), "WATCHDOG=1\n");
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 0) << process.output();
}

TEST(NotifyService, IsHandedOverToASuccessor) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const TempDir dir;
  NotifySocket systemd(dir.path() + "/notify");
  const auto config = dir.file(
      "k.conf", service_config(mirror, "listen = 127.0.0.1:0\n takeover_socket = " + dir.path() +
                                           "/takeover"));
  const auto variables = "NOTIFY_SOCKET=" + systemd.name();
  auto process = started_with(variables, config);
  ASSERT_NE(systemd.wait_for("READY=1"), "");
  auto next = started_with(variables, config, "--takeover");
  EXPECT_EQ(systemd.next(), fmt::format("MAINPID={}\n", next.pid()));
  EXPECT_TRUE(systemd.next().starts_with(fmt::format("MAINPID={}\nREADY=1\n", next.pid())));
  EXPECT_EQ(process.wait(), 0) << process.output();
  next.signal(SIGTERM);
  EXPECT_TRUE(systemd.next().starts_with("STOPPING=1\n")) << "the former process says nothing more";
  EXPECT_EQ(next.wait(), 0);
}

/// A listening socket of 127.0.0.1, as systemd would open it.
struct OpenedSocket {
  OpenedSocket() : fd(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd, 10), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }
  OpenedSocket(const OpenedSocket&) = delete;
  OpenedSocket& operator=(const OpenedSocket&) = delete;
  ~OpenedSocket() { ::close(fd); }
  int fd;
  int port = 0;
};

TEST(SocketActivation, UsesTheSocketsThatMatchAListenLine) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const TempDir dir;
  const OpenedSocket used;
  const OpenedSocket unused;
  // A connection that came before the process started.
  HttpClient early(used.port);
  ASSERT_TRUE(early.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"));
  const auto config = dir.file(
      "k.conf",
      service_config(mirror, fmt::format("listen = 127.0.0.1:{}\n workers = 3", used.port)));
  auto process = started_with("LISTEN_PID=$$ LISTEN_FDS=3 LISTEN_FDNAMES=http:other:log", config,
                              fmt::format("3<&{} 4<&{} 5</dev/null", used.fd, unused.fd));
  ASSERT_TRUE(process.wait_for("listening on")) << process.output();
  const auto answer = early.receive();
  ASSERT_TRUE(answer) << process.output();
  EXPECT_EQ(answer->status, 200);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(used.port, "/healthz").status, 200);
  EXPECT_TRUE(process.output().contains("descriptor 5 (log) of systemd is not used"))
      << process.output();
  EXPECT_TRUE(process.wait_for(fmt::format(
      "the socket at 127.0.0.1:{}, opened by systemd, has no listen line", unused.port)))
      << process.output();
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 0) << process.output();
}

/// Clients, each with a connection per request, until they are destroyed.
class ManyClients {
 public:
  explicit ManyClients(int port) {
    for (int i = 0; i < 16; ++i)
      threads_.emplace_back([this, port](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          HttpClient client(port);
          const auto answer = client.request("POST", "/search", R"({"table":"t"})");
          ++(answer && answer->status == 200 ? answered : lost);
        }
      });
  }
  void stop() { threads_.clear(); }
  std::atomic<int> answered{0};
  std::atomic<int> lost{0};

 private:
  std::vector<std::jthread> threads_;
};

TEST(SocketStore, RefusesNoConnectionDuringARestart) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const TempDir dir;
  const auto port = ClosedPort().port();
  const auto socket = dir.path() + "/unix.sock";
  const auto config = dir.file(
      "k.conf",
      service_config(mirror, fmt::format("listen = 127.0.0.1:{}\n listen = {}\n workers = 2\n"
                                         " shutdown_linger = 100ms",
                                         port, socket)));
  const NotifySocket systemd(dir.path() + "/notify");
  const auto variables = "FDSTORE=64 NOTIFY_SOCKET=" + systemd.name();
  std::optional running(started_with(variables, config));
  std::vector<int> held;
  const auto first = systemd.next_with_descriptors(held);
  EXPECT_TRUE(first.starts_with("FDSTORE=1\nFDNAME=listen-")) << first;
  systemd.next_with_descriptors(held);
  ASSERT_EQ(held.size(), 4U) << "two lines, two workers";
  ManyClients clients(port);
  for (const int number : {SIGTERM, SIGKILL, SIGTERM}) {
    const auto enough = clients.answered + 100;
    ASSERT_TRUE(eventually([&] { return clients.answered > enough; }));
    const auto lost = clients.lost.load();
    running->signal(number);
    running->wait();
    if (number == SIGTERM) {
      EXPECT_EQ(clients.lost, lost);
    }
    std::string redirections;
    for (std::size_t i = 0; i < held.size(); ++i)
      redirections += fmt::format("{}<&{} ", i + 3, held[i]);
    running.emplace(
        started_with(variables + fmt::format(" LISTEN_PID=$$ LISTEN_FDS={}", held.size()), config,
                     redirections));
    ASSERT_TRUE(running->wait_for("listening on " + socket)) << running->output();
    EXPECT_FALSE(running->output().contains("is not used")) << running->output();
  }
  const auto enough = clients.answered + 100;
  ASSERT_TRUE(eventually([&] { return clients.answered > enough; }));
  clients.stop();
  EXPECT_LE(clients.lost, 16) << "those in progress at the kill, of " << clients.answered;
  running->signal(SIGTERM);
  EXPECT_EQ(running->wait(), 0) << running->output();
  for (const int fd : held) ::close(fd);
}

TEST(SocketStore, GivesSocketsTheModeOfTheNextConfiguration) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const TempDir dir;
  const auto socket = dir.path() + "/unix.sock";
  const NotifySocket systemd(dir.path() + "/notify");
  std::vector<int> held;
  std::string names;
  const struct {
    const char* mode;
    mode_t shown;
    const char* names;  ///< null: as they were stored
  } starts[] = {{"0664", 0664, ""}, {"0600", 0600, nullptr}, {"0640", 0600, "unit"}};
  for (const auto& start : starts) {
    const auto config = dir.file(
        "k.conf", service_config(mirror, fmt::format("listen = {}\n listen_socket_mode = {}\n "
                                                     "workers = 1\n shutdown_linger = 1ms",
                                                     socket, start.mode)));
    const auto passed = held.empty() ? std::string() : fmt::format("3<&{}", held[0]);
    auto running = started_with(
        fmt::format("FDSTORE=9 NOTIFY_SOCKET={} LISTEN_PID=$$ LISTEN_FDS={} LISTEN_FDNAMES={}",
                    systemd.name(), held.size(), start.names != nullptr ? start.names : names),
        config, passed);
    ASSERT_TRUE(running.wait_for("listening on " + socket)) << running.output();
    std::vector<int> again;
    const auto stored = systemd.next_with_descriptors(held.empty() ? held : again);
    for (const int fd : again) ::close(fd);
    struct stat facts {};
    EXPECT_EQ(::stat(socket.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, start.shown) << start.mode;
    const auto name = stored.find("FDNAME=");
    ASSERT_NE(name, stored.npos) << stored;
    names = stored.substr(name + 7, stored.find('\n', name) - name - 7);
    running.signal(SIGTERM);
    EXPECT_EQ(running.wait(), 0) << running.output();
    while (!systemd.next(std::chrono::milliseconds(50)).empty()) continue;
  }
  for (const int fd : held) ::close(fd);
}

TEST(SocketStore, IsAskedToForgetTheSocketsOfLinesThatAreGone) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const TempDir dir;
  const OpenedSocket gone;
  const NotifySocket systemd(dir.path() + "/notify");
  auto process = started_with(
      "FDSTORE=64 NOTIFY_SOCKET=" + systemd.name() + " LISTEN_PID=$$ LISTEN_FDS=1",
      dir.file("k.conf",
               service_config(mirror, fmt::format("listen = 127.0.0.1:{}", ClosedPort().port()))),
      fmt::format("3<&{}", gone.fd));
  EXPECT_EQ(systemd.next(),
            fmt::format("FDSTOREREMOVE=1\nFDNAME=listen-127.0.0.1_{}\n", gone.port));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 0) << process.output();
}

}  // namespace
}  // namespace karmad::test
