// What requests hold in all has a bound: `memory_limit`.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

constexpr std::int64_t kMega = 1 << 20;

/// What tells the end of a long answer, and what it has.
enum class Framing : std::uint8_t { chunks, length, events };

/// Answers every request with `200 OK` and a JSON object of `size` bytes, or with an event stream.
/// Makes it while it sends.
class LongMirror {
 public:
  static constexpr std::size_t kEndless = std::string::npos;

  explicit LongMirror(std::size_t size, Framing framing = Framing::chunks)
      : size_(size), framing_(framing) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), length);
    ::listen(listener_, 300);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] {
      for (;;) {
        const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) return;
        const std::scoped_lock lock(mutex_);
        sockets_.push_back(socket);
        threads_.emplace_back([this, socket] { serve(socket); });
      }
    });
  }
  ~LongMirror() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    for (auto& thread : threads_) thread.join();
    for (const int socket : sockets_) ::close(socket);
    ::close(listener_);
  }
  LongMirror(const LongMirror&) = delete;
  LongMirror& operator=(const LongMirror&) = delete;

  std::string address() const { return fmt::format("127.0.0.1:{}", port_); }
  std::size_t requests() const { return requests_; }

 private:
  void serve(int socket) {
    std::string in(64 << 10, '\0');
    while (::recv(socket, in.data(), in.size(), 0) > 0) {
      ++requests_;
      if (!answer(socket)) return;
    }
  }
  bool answer(int socket) const {
    const bool in_chunks = framing_ != Framing::length;
    const std::string begin = R"({"x":")";
    const std::string part(64 << 10, 'x');
    const std::string end = R"("})";
    const auto parts = (size_ - 8) / part.size() + 1;
    const auto head =
        fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\n{}\r\n\r\n",
                    framing_ == Framing::events ? "text/event-stream" : "application/json",
                    in_chunks ? "Transfer-Encoding: chunked"
                              : fmt::format("Content-Length: {}", parts * part.size() + 8));
    const auto framed = [&](const std::string& bytes) {
      return in_chunks ? fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes) : bytes;
    };
    if (!send(socket, head + framed(begin))) return false;
    const auto whole = framed(part);
    for (std::size_t i = 0; i < parts; ++i)
      if (!send(socket, whole)) return false;
    return send(socket, framed(end) + (in_chunks ? "0\r\n\r\n" : ""));
  }
  static bool send(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  const std::size_t size_;
  const Framing framing_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<std::size_t> requests_{0};
  std::mutex mutex_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

std::string table(std::string_view name, std::string_view agents) {
  return fmt::format("table {} {{\n type = distributed\n{}}}\n", name, agents);
}

std::string post_to(std::string_view path, std::string_view table) {
  const auto body = fmt::format(R"({{"table":"{}"}})", table);
  return fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", path,
                     body.size(), body);
}

constexpr auto kSlowly =
    "ha_ping_interval = 0\n network_timeout = 60\n request_timeout = 60s\n"
    "agent_query_timeout = 60s\n agent_max_connecting = 0\n agent_connect_timeout = 10s\n";

/// No answer is passed on while it arrives.
std::string patiently() {
  return std::string(kSlowly) + "reply_buffer_size = 1G\n";
}

void expect_refused(const Response& response) {
  EXPECT_EQ(response.status, 429) << response.body;
  EXPECT_EQ(response.fields.at("retry-after"), "1");
  EXPECT_EQ(response.fields.at("x-error-labels"), "SystemOverloadedError, RetryableError");
  EXPECT_NE(response.body.find("memory_limit"), std::string::npos) << response.body;
}

TEST(MemoryLimit, IsKeptWhileManyClientsReadLargeAnswersSlowly) {
  constexpr std::int64_t kLimit = 64 * kMega;
  constexpr std::size_t kAnswer = 16 * kMega;
  const LongMirror big(kAnswer);
  const FakeMirror quick([](const std::string&) { return nothing_found(); });
  Master master(patiently() + "workers = 2\n memory_limit = 64M\n max_packet_size = 20M",
                table("big", fmt::format(" agent = {}:t\n", big.address())) +
                    table("small", fmt::format(" agent = {}:t\n", quick.address())));
  const auto idle = master.process().memory();
  std::int64_t most = 0;
  const auto look = [&] {
    most = std::max(most, master.process().memory());
    EXPECT_EQ(master.search(R"({"table":"small"})").status, 200);
    EXPECT_EQ(get(master.port(), "/healthz").status, 200);
  };
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(std::make_unique<HttpClient>(master.port(), 256 << 10));
    ASSERT_TRUE(clients.back()->send(post_to("/search", "big")));
    if (i % 5 == 0) look();
  }
  EXPECT_TRUE(eventually([&] {
    look();
    return big.requests() == 30 && master.number("/tables/0/shards/0/mirrors/0/in_flight") == 0;
  }));
  look();
  EXPECT_GT(master.count("memory_refused") + master.count("memory_given_up"), 20);
  EXPECT_GT(master.count("memory_used"), static_cast<std::int64_t>(kAnswer));
  int whole = 0;
  for (const auto& client : clients) {
    const auto answer = client->receive();
    if (!answer) continue;  // reset within its answer
    if (answer->status == 200) {
      EXPECT_EQ(answer->body.size(), kAnswer + 8);
      ++whole;
    } else {
      expect_refused(*answer);
    }
    look();
  }
  EXPECT_GT(whole, 0);
  EXPECT_TRUE(eventually([&] { return master.count("memory_used") == 0; }));
  EXPECT_LE(master.count("memory_peak"), kLimit + 4 * kMega);
  EXPECT_EQ(master.count("memory_limit"), kLimit);
  if (kTrueSize) {
    EXPECT_LE(most, idle + 3 * kLimit) << "what grows is there twice for a moment, on each worker";
  }
  EXPECT_EQ(master.count("agent_retry"), 0) << "another mirror would not change anything";
  EXPECT_EQ(master.count("agent_errorsarow", fmt::format("SHOW AGENT '{}' STATUS", big.address())),
            0)
      << "nor was it the mirror's error";
}

TEST(Streams, TakeAtMost128KilobytesForEachClientThatReadsNothing) {
  constexpr std::int64_t kClients = 200;
  for (const auto framing : {Framing::length, Framing::events}) {
    const LongMirror mirror(20 * kMega, framing);
    Master master(
        std::string(kSlowly) + "workers = 1\n agent_max_connections = 300",
        table("t", fmt::format(" dialect = http\n route = /t\n agent = {}\n", mirror.address())));
    EXPECT_EQ(get(master.port(), "/healthz").status, 200);
    const auto idle = master.process().memory();
    std::list<HttpClient> clients;
    for (int i = 0; i < kClients; ++i)
      ASSERT_TRUE(
          clients.emplace_back(master.port(), 4096).send("GET /t/x HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_TRUE(eventually([&] { return master.count("replies_passed") == kClients; }));
    std::int64_t most = 0;
    for (int turn = 0; turn < 100; ++turn) {
      EXPECT_EQ(get(master.port(), "/healthz").status, 200);
      most = std::max(most, master.process().memory());
    }
    EXPECT_EQ(master.count("slow_clients"), 0);
    EXPECT_LE(master.count("memory_used"), kClients * (128 << 10));
    if (kTrueSize) {
      EXPECT_LE(most - idle, kClients * (128 << 10));
    }
  }
}

TEST(MemoryLimit, AnEndlessAnswerTakesNotMuchMoreThanMaxPacketSize) {
  const LongMirror one(LongMirror::kEndless);
  const LongMirror other(LongMirror::kEndless);
  Master master(patiently() + "workers = 1\n memory_limit = 0\n max_packet_size = 32M",
                table("t", fmt::format(" agent = {}|{}:t\n", one.address(), other.address())));
  const auto idle = master.process().memory();
  HttpClient client(master.port());
  ASSERT_TRUE(client.send(post_to("/search", "t")));
  std::int64_t most = 0;
  EXPECT_TRUE(eventually([&] {
    most = std::max(most, master.process().memory());
    return client.has(1, std::chrono::milliseconds(10));
  }));
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 502);
  EXPECT_EQ(one.requests() + other.requests(), 2U);
  EXPECT_GT(master.count("memory_peak"), 16 * kMega);
  EXPECT_LE(master.count("memory_peak"), 42 * kMega) << "1.3 of it, for one attempt at a time";
  EXPECT_EQ(master.count("memory_used"), 0);
  EXPECT_EQ(master.count("memory_limit"), 0);
  if (kTrueSize) {
    EXPECT_LE(most, idle + 96 * kMega) << "what it is moved from and to counts for a moment";
  }
}

TEST(MemoryLimit, GivesUpWhatAloneTakesTooMuch) {
  const LongMirror one(LongMirror::kEndless);
  const LongMirror other(24 * kMega);
  Master master(
      patiently() + "workers = 1\n memory_limit = 40M\n partial_results = allow",
      table("t", fmt::format(" agent = {}:t\n", one.address())) +
          table("shards", fmt::format(" agent = {0}:t\n agent = {0}:u\n", other.address())));
  expect_refused(master.search(R"({"table":"t"})"));
  expect_refused(master.search(R"({"table":"shards"})"));
  EXPECT_EQ(master.count("memory_given_up"), 2);
  EXPECT_EQ(master.count("queries_failed"), 2);
  const auto update = post(master.port(), "/insert", R"({"table":"t","doc":{}})");
  EXPECT_EQ(update.status, 503) << update.body;
  EXPECT_EQ(update.fields.count("x-error-labels"), 0U) << "who repeats it may insert it twice";
  EXPECT_NE(update.body.find("memory_limit"), std::string::npos);
  EXPECT_EQ(master.count("memory_given_up"), 3);
  EXPECT_TRUE(eventually([&] { return master.count("memory_used") == 0; }));
}

TEST(MemoryLimit, NearItNewBodiesAreRefusedUnread) {
  const LongMirror big(30 * kMega);
  const FakeMirror quick([](const std::string&) { return nothing_found(); });
  Master master(patiently() + "workers = 2\n memory_limit = 32M\n max_packet_size = 31M",
                table("big", fmt::format(" agent = {}:t\n", big.address())) +
                    table("small", fmt::format(" agent = {}:t\n", quick.address())));
  {
    HttpClient slow(master.port(), 256 << 10);
    ASSERT_TRUE(slow.send(post_to("/search", "big")));
    ASSERT_TRUE(eventually([&] { return master.count("memory_used") > 29 * kMega; }));
    for (const auto framing :
         {"Content-Length: 1000000\r\nExpect: 100-continue\r\n", "Content-Length: 1000000\r\n"}) {
      HttpClient client(master.port());
      ASSERT_TRUE(client.send(fmt::format("POST /search HTTP/1.1\r\nHost: h\r\n{}\r\n", framing)));
      const auto answer = client.receive();
      ASSERT_TRUE(answer);
      expect_refused(*answer);
    }
    HttpClient chunked(master.port());
    ASSERT_TRUE(
        chunked.send("POST /search HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "80000\r\n" +
                     std::string(0x80000, ' ') + "\r\n"));
    const auto answer = chunked.receive();
    ASSERT_TRUE(answer);
    expect_refused(*answer);
    EXPECT_EQ(master.count("memory_refused"), 3);
    EXPECT_EQ(master.count("memory_given_up"), 0);
    const auto medium = fmt::format(R"({{"table":"small","x":"{}"}})", std::string(50'000, 'x'));
    EXPECT_EQ(master.search(medium).status, 200) << "small enough";
    for (const auto path : {"/healthz", "/readyz", "/status", "/agents"})
      EXPECT_EQ(get(master.port(), path).status, 200) << path;
  }
  EXPECT_TRUE(eventually([&] { return master.count("memory_used") == 0; })) << "its client left";
  const auto large = fmt::format(R"({{"table":"small","x":"{}"}})", std::string(1'000'000, 'x'));
  EXPECT_EQ(master.search(large).status, 200);
  EXPECT_TRUE(eventually([&] { return master.count("memory_used") == 0; }));
}

}  // namespace
}  // namespace karmad::test
