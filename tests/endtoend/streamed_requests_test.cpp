// Bodies of requests beyond `request_buffer_size`: they are passed on while they arrive.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <list>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/tls.hpp"

namespace karmad::test {
namespace {

using Then = Reaction::Then;

Reaction took() {
  return {"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\ntook"};
}

/// Text that shows where a part of it is missing or twice.
std::string numbers(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i)
    fmt::format_to(std::back_inserter(text), "{},", i);
  text.resize(size);
  return text;
}

std::string chunked(std::string_view body, std::size_t size) {
  std::string out;
  for (std::size_t at = 0; at < body.size(); at += size) {
    const auto part = body.substr(at, size);
    fmt::format_to(std::back_inserter(out), "{:x};a=b\r\n{}\r\n", part.size(), part);
  }
  return out;
}

/// The content of a request in chunks as a mirror has seen it.
std::string without_chunks(std::string_view request) {
  std::string out;
  auto at = request.find("\r\n\r\n") + 4;
  for (;;) {
    const auto size = std::strtoul(request.data() + at, nullptr, 16);
    if (size == 0) return out;
    at = request.find("\r\n", at) + 2;
    out.append(request.substr(at, size));
    at += size + 2;
  }
}

std::string content(std::string_view request) {
  return std::string(request.substr(request.find("\r\n\r\n") + 4));
}

std::string head_of(std::string_view request) {
  std::string head(request.substr(0, request.find("\r\n\r\n") + 2));
  std::ranges::transform(head, head.begin(), [](unsigned char c) { return std::tolower(c); });
  return head;
}

/// A process that accepts and reads nothing.
class DeafMirror {
 public:
  DeafMirror() {
    const int small = 4096;
    ::setsockopt(listener_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(listener_, 400), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  ~DeafMirror() { ::close(listener_); }
  DeafMirror(const DeafMirror&) = delete;
  DeafMirror& operator=(const DeafMirror&) = delete;
  std::string address() const { return fmt::format("127.0.0.1:{}", port_); }

 private:
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
};

class StreamedRequests : public testing::Test {
 protected:
  static constexpr auto kSearchd =
      "workers = 1\n ha_strategy = roundrobin\n ha_ping_interval = 0\n agent_retry_count = 3";
  static std::string table(std::string_view mirrors, std::string_view more = {}) {
    return fmt::format(
        "table t {{\n type = distributed\n dialect = http\n route = /t\n {}\n agent = {}\n}}\n",
        more, mirrors);
  }
  static std::string head(std::size_t size, std::string_view fields = {}) {
    return fmt::format("POST /t/x HTTP/1.1\r\nHost: h\r\n{}Content-Length: {}\r\n\r\n", fields,
                       size);
  }
  static std::string head_of_chunks(std::string_view fields = {}) {
    return fmt::format("PUT /t/x HTTP/1.1\r\nHost: h\r\n{}Transfer-Encoding: chunked\r\n\r\n",
                       fields);
  }
  /// A request that needs so many milliseconds, until karmad's own clock ends it.
  static std::string silent(const FakeMirror& mirror, int milliseconds) {
    return fmt::format(
        "table s {{\n type = distributed\n agent_query_timeout = {}ms\n agent = {}:s\n}}\n",
        milliseconds, mirror.address());
  }

  FakeMirror first_{[](const std::string&) { return took(); }};
  FakeMirror second_{[](const std::string&) { return took(); }};
};

TEST_F(StreamedRequests, GoToTheMirrorsThatTheirPreferenceAndRolesName) {
  const auto mirrors = fmt::format("{}[role=primary]|{}[role=replica,tags=dc:ny]", first_.address(),
                                   second_.address());
  Master master("workers = 1\n ha_ping_interval = 500ms",
                table(mirrors, "reads = /t/x\n ping_type = http"));
  ASSERT_TRUE(master.ready());
  const auto body = numbers(300'000);
  const auto sent_to = [&](const FakeMirror& mirror, const std::string& request) {
    const auto before = mirror.received();
    HttpClient client(master.port());
    EXPECT_TRUE(client.send(request));
    const auto answer = client.receive();
    EXPECT_TRUE(answer && answer->status == 201) << (answer ? answer->body : "no answer");
    return mirror.received() - before > body.size();
  };
  const std::string preference = "X-Read-Preference: mode=secondary;tags=dc:ny\r\n";
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(sent_to(second_, head(body.size(), preference) + body));
    // A write, and reads of the primary.
    EXPECT_TRUE(sent_to(first_, head_of_chunks() + chunked(body, 9000) + "0\r\n\r\n"));
    EXPECT_TRUE(sent_to(first_, head(body.size(), "X-Read-Preference: primary\r\n") + body));
  }
}

TEST_F(StreamedRequests, ReachTheMirrorWhileTheyArriveAndTheConnectionsAreUsedAgain) {
  const Master master(kSearchd, table(first_.address()));
  HttpClient client(master.port());
  const auto body = numbers(1'000'000);
  for (const bool in_chunks : {false, true, false}) {
    const auto before = first_.received();
    const auto framed = in_chunks ? chunked(body, 7001) + "0\r\nX: y\r\n\r\n" : body;
    ASSERT_TRUE(client.send((in_chunks ? head_of_chunks() : head(body.size())) +
                            framed.substr(0, 300'000)));
    EXPECT_TRUE(eventually([&] { return first_.received() - before > 250'000; }));
    EXPECT_EQ(first_.busy(), 0);
    // The next request comes with the end of this one.
    ASSERT_TRUE(client.send(framed.substr(300'000) + "GET /t/next HTTP/1.1\r\nHost: h\r\n\r\n"));
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 201) << answer->body;
    EXPECT_EQ(client.receive()->status, 201);
    const auto seen = first_.seen();
    const auto& request = seen.at(seen.size() - 2);
    EXPECT_EQ(in_chunks ? without_chunks(request) : content(request), body);
    EXPECT_EQ(head_of(request).contains("\r\ntransfer-encoding: chunked\r\n"), in_chunks);
    EXPECT_EQ(head_of(request).contains("\r\ncontent-length: 1000000\r\n"), !in_chunks);
    EXPECT_TRUE(seen.back().starts_with("GET /t/next "));
  }
  EXPECT_EQ(first_.connections(), 1U);
  EXPECT_EQ(master.count("requests_streamed"), 3);
  EXPECT_EQ(master.count("requests_broken_off"), 0);
  EXPECT_EQ(master.count("memory_used"), 0);
}

TEST_F(StreamedRequests, AreThoseBeyondRequestBufferSize) {
  const Master master(std::string(kSearchd) + "\n request_buffer_size = 10k",
                      table(first_.address()));
  HttpClient client(master.port());
  const auto streamed = [&](std::size_t size, bool in_chunks) {
    const auto before = master.count("requests_streamed");
    const auto body = numbers(size);
    EXPECT_TRUE(client.send(in_chunks ? head_of_chunks() + chunked(body, 999) + "0\r\n\r\n"
                                      : head(size) + body));
    EXPECT_EQ(client.receive()->status, 201);
    const auto request = first_.seen().back();
    const bool sent_in_chunks = head_of(request).contains("\r\ntransfer-encoding: chunked\r\n");
    EXPECT_EQ(sent_in_chunks ? without_chunks(request) : content(request), body);
    EXPECT_EQ(sent_in_chunks, in_chunks && size > 10'240);
    return master.count("requests_streamed") - before;
  };
  EXPECT_EQ(streamed(10'240, true), 0);
  EXPECT_EQ(streamed(100'000, true), 1);
  EXPECT_EQ(streamed(0, true), 0);
  // One that has arrived with its head needs no waiting.
  EXPECT_EQ(streamed(10'240, false), 0);
  EXPECT_EQ(streamed(300'000, false), 1);
}

TEST_F(StreamedRequests, GoToAnotherMirrorOnlyBeforeTheFirstByte) {
  const ClosedPort refused;
  const auto body = numbers(300'000);
  {
    const Master master(kSearchd, table(fmt::format("{}|{}", refused.address(), first_.address()),
                                        "updates = any"));
    for (int i = 0; i < 4; ++i) {
      HttpClient client(master.port());
      ASSERT_TRUE(client.send(head(body.size()) + body));
      EXPECT_EQ(client.receive()->status, 201);
    }
    EXPECT_GT(master.count("agent_retry"), 0);
  }
  for (const auto* more :
       {"", "hedge = 1ms", "read_preference = nearest", "mirror_retry_count = 5"}) {
    const auto updates = fmt::format("updates = any\n {}", more);
    first_.react_to_heads();
    first_.react([](const std::string&) { return Reaction{{}, Then::reset}; });
    second_.react_to_heads();
    second_.react([](const std::string&) { return Reaction{{}, Then::reset}; });
    const auto before = first_.requests() + second_.requests();
    const Master master("workers = 1",
                        table(fmt::format("{}|{}", first_.address(), second_.address()), updates));
    HttpClient client(master.port());
    ASSERT_TRUE(client.send(head(5'000'000, "Idempotency-Key: 7\r\n")));
    client.send(numbers(5'000'000));
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << more;
    EXPECT_EQ(answer->status, 502) << more;
    EXPECT_TRUE(answer->body.contains("request_buffer_size")) << answer->body;
    EXPECT_EQ(answer->fields.at("connection"), "close");
    EXPECT_EQ(first_.requests() + second_.requests() - before, 1U) << more;
    EXPECT_EQ(master.count("requests_broken_off"), 1);
    EXPECT_EQ(master.count("agent_retry"), 0);
  }
}

TEST_F(StreamedRequests, OfWhichTheMirrorWantsNoMoreGetItsAnswer) {
  first_.react_to_heads();
  first_.react([](const std::string&) {
    return Reaction{"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno!", Then::close};
  });
  const Master master(kSearchd, table(first_.address()));
  for (const bool in_chunks : {false, true}) {
    HttpClient client(master.port());
    // The rest of the body never comes.
    ASSERT_TRUE(client.send(in_chunks ? head_of_chunks() + chunked(numbers(200'000), 5000)
                                      : head(2'000'000) + numbers(200'000)));
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 413);
    EXPECT_EQ(answer->body, "no!");
    EXPECT_EQ(answer->fields.at("connection"), "close");
    EXPECT_TRUE(client.closed());
  }
  EXPECT_EQ(master.count("requests_broken_off"), 2);
}

TEST_F(StreamedRequests, OfWhichNothingWasPassedOnCountAsNeither) {
  const ClosedPort refused;
  const Master master(kSearchd, table(refused.address()));
  HttpClient client(master.port());
  ASSERT_TRUE(client.send(head(200'000)));
  EXPECT_EQ(client.receive()->status, 502);
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(master.count("requests_streamed"), 0);
  EXPECT_EQ(master.count("requests_broken_off"), 0);
}

// It is judged by a helper thread, after the rest of the body was given up.
TEST_F(StreamedRequests, MayGetALongAnswerEarly) {
  const auto text = numbers(16'000'000);
  first_.react_to_heads();
  first_.react([&](const std::string&) {
    return Reaction{
        fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", text.size(), text),
        Then::stay};
  });
  const Master master(kSearchd, table(first_.address()));
  HttpClient client(master.port());
  ASSERT_TRUE(client.send(head(2'000'000) + numbers(200'000)));
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body.substr(0, 300);
  EXPECT_TRUE(answer->body == text);
  EXPECT_TRUE(client.closed());
}

TEST_F(StreamedRequests, ThatTheClientBreaksOffAreNoErrorOfTheMirror) {
  const Master master(std::string(kSearchd) + "\n network_timeout = 2s", table(first_.address()));
  const auto begun = [&](HttpClient& client) {
    const auto before = first_.received();
    EXPECT_TRUE(client.send(head(500'000) + numbers(100'000)));
    EXPECT_TRUE(eventually([&] { return first_.received() - before > 90'000; }));
  };
  {
    HttpClient client(master.port());
    begun(client);
  }
  EXPECT_TRUE(eventually([&] { return master.count("clients_left") == 1; }));
  {
    HttpClient client(master.port());
    begun(client);
    client.reset();
  }
  EXPECT_TRUE(eventually([&] { return master.count("clients_left") == 2; }));
  {
    HttpClient client(master.port());
    begun(client);
    client.finish();  // half closed, within the body
    EXPECT_TRUE(client.closed());
  }
  {
    HttpClient client(master.port());
    begun(client);
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 408);
    EXPECT_TRUE(client.closed());
  }
  {
    HttpClient client(master.port());
    ASSERT_TRUE(client.send(head_of_chunks() + chunked(numbers(100'000), 1000) + "nonsense\r\n"));
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 400);
    EXPECT_TRUE(client.closed());
  }
  EXPECT_EQ(master.count("requests_broken_off"), 5);
  EXPECT_TRUE(eventually([&] { return first_.open_connections() == 0; }));
  EXPECT_EQ(first_.requests(), 0U);
  EXPECT_EQ(
      master.count("agent_errorsarow", fmt::format("SHOW AGENT '{}' STATUS", first_.address())), 0);
}

TEST_F(StreamedRequests, HaveABoundWithAndWithoutALength) {
  const Master master(std::string(kSearchd) + "\n max_packet_size = 200k", table(first_.address()));
  {
    HttpClient client(master.port());
    ASSERT_TRUE(client.send(head(204'801)));
    EXPECT_EQ(client.receive()->status, 413);
  }
  HttpClient client(master.port());
  client.send(head_of_chunks() + chunked(numbers(300'000), 5000));
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 413);
  EXPECT_TRUE(answer->body.contains("max_packet_size")) << answer->body;
}

// The times for a request begin when it is complete.
TEST_F(StreamedRequests, MayTakeLongerThanARequest) {
  const FakeMirror never([](const std::string&) { return silence(); });
  const Master master(
      std::string(kSearchd) +
          "\n request_timeout = 2s\n agent_query_timeout = 1500ms\n "
          "agent_retry_count = 0\n network_timeout = 20s",
      table(first_.address(), "agent_first_byte_timeout = 1s") + silent(never, 800));
  HttpClient client(master.port());
  const auto body = numbers(400'000);
  ASSERT_TRUE(client.send(head(body.size()) + body.substr(0, 100'000)));
  for (std::size_t at = 100'000; at < body.size(); at += 100'000) {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(master.search(R"({"table":"s"})").status, 504);
    ASSERT_TRUE(client.send(body.substr(at, 100'000)));
  }
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 201) << answer->body;
  EXPECT_EQ(content(first_.seen().back()), body);

  first_.react([](const std::string&) { return silence(); });
  ASSERT_TRUE(client.send(head(body.size()) + body));
  EXPECT_EQ(client.receive()->status, 504);
}

TEST_F(StreamedRequests, GoOnOverAReload) {
  Master master(kSearchd, table(first_.address()));
  HttpClient client(master.port());
  const auto body = numbers(300'000);
  ASSERT_TRUE(client.send(head(body.size()) + body.substr(0, 150'000)));
  EXPECT_TRUE(eventually([&] { return first_.received() > 100'000; }));
  ASSERT_TRUE(master.reload(std::string(kSearchd) + "\n request_buffer_size = 1M",
                            table(second_.address())));
  ASSERT_TRUE(client.send(body.substr(150'000)));
  EXPECT_EQ(client.receive()->status, 201);
  EXPECT_EQ(content(first_.seen().back()), body);
  ASSERT_TRUE(client.send(head(body.size()) + body));
  EXPECT_EQ(client.receive()->status, 201);
  EXPECT_EQ(content(second_.seen().back()), body);
  EXPECT_EQ(master.count("requests_streamed"), 1);
}

TEST_F(StreamedRequests, AreAskedForByKarmadOnce) {
  const Master master(kSearchd, table(first_.address()));
  HttpClient client(master.port());
  const auto body = numbers(300'000);
  ASSERT_TRUE(client.send(head(body.size(), "Expect: 100-continue\r\n")));
  EXPECT_EQ(client.take(25), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(client.send(body));
  EXPECT_EQ(client.receive()->status, 201);
  EXPECT_FALSE(head_of(first_.seen().back()).contains("\r\nexpect:"));
}

TEST_F(StreamedRequests, GoThroughTlsAndThroughAKarmadBehind) {
  const TempDir dir;
  const Authority authority(dir.path());
  const auto certificate = authority.issue("c.pem", "DNS:search.example,IP:127.0.0.1");
  Master inner(
      fmt::format("{}\n listen = 127.0.0.1:0:https\n tls_certificate = {}", kSearchd, certificate),
      table(first_.address()));
  const auto line = inner.process().wait_for(":https");
  ASSERT_TRUE(line);
  const auto port = std::stoi(line->substr(line->find("127.0.0.1:") + 10));
  const Master outer(kSearchd,
                     table(fmt::format("127.0.0.1:{}", port),
                           fmt::format("agent_tls = yes\n agent_tls_ca = {}", authority.root())));
  HttpClient client(outer.port());
  const auto body = numbers(1'500'000);
  for (const bool in_chunks : {true, false}) {
    ASSERT_TRUE(client.send(in_chunks ? head_of_chunks() + chunked(body, 40'000) + "0\r\n\r\n"
                                      : head(body.size()) + body));
    EXPECT_EQ(client.receive()->status, 201);
    const auto request = first_.seen().back();
    EXPECT_EQ(in_chunks ? without_chunks(request) : content(request), body);
  }
  EXPECT_EQ(outer.count("requests_streamed"), 2);
  EXPECT_EQ(inner.count("requests_streamed"), 2);
}

TEST_F(StreamedRequests, AreFinishedWhenTheProcessIsToEnd) {
  Master master(std::string(kSearchd) + "\n shutdown_linger = 0", table(first_.address()));
  HttpClient client(master.port());
  const auto body = numbers(300'000);
  ASSERT_TRUE(client.send(head(body.size()) + body.substr(0, 150'000)));
  EXPECT_TRUE(eventually([&] { return first_.received() > 100'000; }));
  master.process().signal(SIGTERM);
  ASSERT_TRUE(master.process().wait_for("stopping"));
  ASSERT_TRUE(client.send(body.substr(150'000)));
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(content(first_.seen().back()), body);
  EXPECT_EQ(master.process().wait(), 0);
}

// What several mirrors get, or karmad has to read, is read whole.
TEST_F(StreamedRequests, AreNotThoseOfSeveralMirrors) {
  const auto body = numbers(200'000);
  const auto ask = [&](const std::string& settings, std::string_view fields = {}) {
    const Master master(kSearchd, settings);
    HttpClient client(master.port());
    EXPECT_TRUE(client.send(head(body.size(), fields) + body));
    EXPECT_TRUE(client.receive());
    EXPECT_EQ(content(first_.seen().back()), body) << settings;
    return master.count("requests_streamed");
  };
  EXPECT_EQ(ask(table(first_.address())), 1);
  EXPECT_EQ(ask(table(first_.address(), "agent_blackhole = " + second_.address())), 0);
  EXPECT_EQ(content(second_.seen().back()), body);
  EXPECT_EQ(ask(table(first_.address()), "X-Consistency: any\r\n"), 0);
}

TEST_F(StreamedRequests, TakeAtMost128KilobytesForEachMirrorThatReadsNothing) {
  constexpr std::int64_t kClients = 200;
  const DeafMirror deaf;
  const std::string patient =
      "workers = 1\n ha_ping_interval = 0\n agent_query_timeout = 60s\n request_timeout = 60s\n "
      "network_timeout = 60s\n agent_max_connections = 300\n agent_max_connecting = 0";
  const auto part = numbers(300'000);
  for (const bool in_chunks : {false, true}) {
    Master master(patient, table(deaf.address()));
    EXPECT_EQ(get(master.port(), "/healthz").status, 200);
    const auto idle = master.process().memory();
    std::list<HttpClient> clients;
    for (int i = 0; i < kClients; ++i)
      ASSERT_TRUE(
          clients.emplace_back(master.port())
              .send(in_chunks ? head_of_chunks() + chunked(part, 3000) : head(20'000'000) + part));
    EXPECT_TRUE(eventually([&] { return master.count("requests_streamed") == kClients; }));
    std::int64_t most = 0;
    for (int turn = 0; turn < 100; ++turn) {
      EXPECT_EQ(get(master.port(), "/healthz").status, 200);
      most = std::max(most, master.process().memory());
    }
    EXPECT_LE(master.count("memory_used"), kClients * (128 << 10));
    if (kTrueSize) {
      EXPECT_LE(most - idle, kClients * (128 << 10)) << in_chunks;
    }
    clients.clear();
    EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 1; }));
  }
}

}  // namespace
}  // namespace karmad::test
