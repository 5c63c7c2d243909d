#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <future>
#include <string>
#include <thread>

#include "balancer/ingress/session.hpp"
#include "tests/config/written.hpp"
#include "tests/support/counted_allocations.hpp"

namespace karmad {
namespace {

/// Reads from `fd` until `end` stands there; false when the other side closed.
bool read_until(int fd, std::string& got, std::string_view end) {
  std::array<char, 4096> piece;
  got.clear();
  while (!got.ends_with(end)) {
    const auto size = ::recv(fd, piece.data(), piece.size(), 0);
    if (size <= 0) return false;
    got.append(piece.data(), static_cast<std::size_t>(size));
  }
  return true;
}

/// A mirror that gives every request the same answer, one connection at a time.
class OneAnswer {
 public:
  OneAnswer() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
    port = ntohs(at.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~OneAnswer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::uint16_t port = 0;

 private:
  void serve() const {
    const std::string body = R"({"took":1,"hits":{"total":1,"hits":[{"_id":1,"_score":1}]}})";
    const auto answer = fmt::format(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        body.size(), body);
    for (;;) {
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      std::string request;
      while (read_until(client, request, "}"))
        if (::send(client, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
      ::close(client);
    }
  }

  int listener_;
  std::jthread thread_;
};

/// A worker with its thread, and a client of it.
class AWorker {
 public:
  explicit AWorker(const std::string& text)
      : worker_(0, 1, shared_,
                Topology::build(*load_text(text).settings, {.registry = registry_, .loops = loops_},
                                nullptr, problems_),
                {}) {
    std::array<int, 2> ends;
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    client_ = ends[0];
    Socket socket(worker_.loop.io.get_executor(), asio::local::stream_protocol(), ends[1]);
    socket.non_blocking(true);
    boost::intrusive_ptr<Session>(
        new Session(worker_, std::move(socket), ClientAddress{.text = "::1"}))
        ->start();
    thread_ = std::jthread([this] { worker_.run(); });
  }
  ~AWorker() {
    worker_.post([this] { worker_.abandon(); });
    thread_.join();
    ::close(client_);
  }

  void ask(std::string_view request) const {
    std::string answer;
    ASSERT_EQ(::send(client_, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    ASSERT_TRUE(read_until(client_, answer, "}")) << answer;
    ASSERT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  }

  /// Number of allocations of the worker's thread so far.
  std::size_t allocations() {
    std::promise<std::size_t> count;
    worker_.post([&] { count.set_value(test::allocations()); });
    return count.get_future().get();
  }

 private:
  AgentRegistry registry_{1, std::chrono::seconds(60)};
  Loops loops_;
  SharedState shared_{.connections = {.most = 10}};
  Problems problems_;
  Worker worker_;
  int client_ = -1;
  std::jthread thread_;
};

// Recycling would hide errors from the sanitizers; there is none with them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kRecycles = false;
#else
constexpr bool kRecycles = true;
#endif

/// A table with one mirror and further `lines`; repeats requests for `target`.
void expect_none(std::string_view lines, std::string_view target) {
  constexpr std::string_view kBody = R"({"table":"t","query":{"match_all":{}}})";
  const auto request = fmt::format(
      "POST {} HTTP/1.1\r\nHost: h\r\nUser-Agent: test\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      target, kBody.size(), kBody);
  const OneAnswer mirror;
  AWorker worker(fmt::format("table t {{\n type = distributed\n agent = 127.0.0.1:{}{}\n}}\n",
                             mirror.port, lines));
  for (int i = 0; i < 50; ++i) worker.ask(request);
  const auto before = worker.allocations();
  const auto still = worker.allocations();  // what asking for the count costs
  for (int i = 0; i < 100; ++i) worker.ask(request);
  const auto made = worker.allocations() - still;
  EXPECT_TRUE(made <= still - before || !kRecycles) << made;
}

TEST(Allocations, ASearchThatPassesThroughMakesNone) {
  expect_none(":t", "/search");
}

TEST(Allocations, ARequestThatIsPassedOnToAnUnknownServerMakesNone) {
  expect_none("\n dialect = http\n route = /items", "/items/1?full=1");
}

}  // namespace
}  // namespace karmad
