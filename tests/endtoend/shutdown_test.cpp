// What a graceful end does to requests that are on their way to it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kShutdownQuery = R"({"table":"t"})";

std::string table(const FakeMirror& mirror) {
  return fmt::format("table t {{\n type = distributed\n agent = {}:t\n}}\n", mirror.address());
}

bool says_close(const Response& answer) {
  const auto field = answer.fields.find("connection");
  return field != answer.fields.end() && field->second == "close";
}

/// Clients that send requests until connections are refused. Every request that was sent counts.
class Clients {
 public:
  enum class Connections { kept, fresh };

  Clients(const Master& master, Connections connections, int count) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this, port = master.port(), connections] { run(port, connections); });
  }
  void wait() { threads_.clear(); }

  std::atomic<int> answered{0};
  std::atomic<int> lost{0};

 private:
  void run(int port, Connections connections) {
    std::optional<HttpClient> client;
    for (;;) {
      if (!client) client.emplace(port);
      if (!client->connected()) return;
      const auto answer = client->request("POST", "/search", kShutdownQuery);
      ++(answer && answer->status == 200 ? answered : lost);
      if (!answer || says_close(*answer) || connections == Connections::fresh) client.reset();
      nap();
    }
  }

  std::vector<std::jthread> threads_;
};

class AGracefulEnd : public testing::TestWithParam<Clients::Connections> {};

TEST_P(AGracefulEnd, LosesNoRequest) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Master master("workers = 2", table(mirror));
  ASSERT_TRUE(master.ready());
  Clients clients(master, GetParam(), 12);
  ASSERT_TRUE(eventually([&] { return clients.answered > 200; }));
  master.process().signal(SIGTERM);
  EXPECT_EQ(master.process().wait(), 0) << master.process().output();
  clients.wait();
  EXPECT_EQ(clients.lost, 0) << "of " << clients.answered;
}

INSTANTIATE_TEST_SUITE_P(With, AGracefulEnd,
                         testing::Values(Clients::Connections::kept, Clients::Connections::fresh),
                         [](const testing::TestParamInfo<Clients::Connections>& connections) {
                           return connections.param == Clients::Connections::kept
                                      ? "KeptConnections"
                                      : "FreshConnections";
                         });

TEST(AGracefulEnd, AnswersWhatComesOnAKeptConnectionWithinTheLinger) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Master master("shutdown_linger = 50s", table(mirror));
  ASSERT_TRUE(master.ready());
  HttpClient used(master.port());
  ASSERT_EQ(used.request("GET", "/healthz")->status, 200);
  HttpClient fresh(master.port());
  ASSERT_TRUE(eventually([&] { return master.count("connections_open") == 3; }));
  master.process().signal(SIGTERM);
  ASSERT_TRUE(master.process().wait_for("stopping"));
  for (auto* client : {&used, &fresh}) {
    std::optional<Response> answer;
    // The log line is written before the workers begin to drain.
    ASSERT_TRUE(eventually([&] {
      answer = client->request("POST", "/search", kShutdownQuery);
      return !answer || says_close(*answer);
    }));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_TRUE(client->closed());
  }
  EXPECT_EQ(master.process().wait(10s), 0) << "the last connection ends the linger";
}

// Opening a pipe without a writer would block forever.
TEST(AGracefulEnd, IsNotHeldUpByAPipeInTheConfiguration) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const TempDir folder;
  const auto pipe = folder.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Master master("", table(mirror));
  ASSERT_TRUE(master.reload("", table(mirror) + "include = " + pipe + "\n"));
  EXPECT_TRUE(master.process().output().contains("it is not a regular file"));
  master.process().signal(SIGTERM);
  EXPECT_EQ(master.process().wait(), 0) << master.process().output();
}

// Its sources and names are no longer followed, and systemd was told that it ends.
TEST(AGracefulEnd, ReadsNoOtherConfiguration) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Master master("drain_delay = 1h", table(mirror));
  master.process().signal(SIGTERM);
  ASSERT_TRUE(master.process().wait_for("/readyz answers 503"));
  master.write_config("drain_delay = 1h",
                      "table u {\n type = distributed\n agent = " + mirror.address() + "\n}\n");
  master.process().signal(SIGHUP);
  EXPECT_TRUE(master.process().wait_for("karmad is stopping; the configuration in use stays"));
  EXPECT_EQ(master.search(kShutdownQuery).status, 200);
  EXPECT_FALSE(master.process().output().contains("reload: done"));
  master.process().signal(SIGTERM);
  EXPECT_EQ(master.process().wait(), 1);
}

TEST(AGracefulEnd, IsTheReasonOfRequestsThatItCancels) {
  const TempDir folder;
  const auto log = folder.path() + "/access";
  FakeMirror mirror([](const std::string&) { return silence(); });
  Master master(fmt::format("ha_ping_interval = 0\n shutdown_timeout = 100ms\n"
                            " agent_query_timeout = 1m\n request_timeout = 1m\n access_log = {}",
                            log),
                table(mirror));
  HttpClient client(master.port());
  ASSERT_TRUE(
      client.send(fmt::format("POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: "
                              "{}\r\n\r\n{}",
                              kShutdownQuery.size(), kShutdownQuery)));
  ASSERT_TRUE(eventually([&] { return mirror.requests() == 1; }));
  master.process().signal(SIGINT);
  EXPECT_EQ(master.process().wait(), 0) << master.process().output();
  std::ifstream in(log);
  const std::string lines{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(lines.contains(R"("status":503)")) << lines;
  EXPECT_TRUE(lines.contains(R"("end":"failed","reason":"shutdown_timeout is over")")) << lines;
}

TEST(AGracefulEnd, WithALingerOfZeroClosesIdleConnectionsAtOnce) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Master master("shutdown_linger = 0", table(mirror));
  ASSERT_TRUE(master.ready());
  HttpClient idle(master.port());
  ASSERT_EQ(idle.request("GET", "/healthz")->status, 200);
  master.process().signal(SIGTERM);
  EXPECT_TRUE(idle.closed());
}

TEST(ADrainDelay, TellsLoadBalancersBeforeTheSocketsClose) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Master master("workers = 2\n drain_delay = 2s\n shutdown_linger = 100ms", table(mirror));
  ASSERT_TRUE(master.ready());
  HttpClient kept(master.port());
  ASSERT_EQ(kept.request("GET", "/healthz")->status, 200);
  const auto began = std::chrono::steady_clock::now();
  master.process().signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return get(master.port(), "/readyz").status == 503; }));
  std::optional<Response> answer;
  ASSERT_TRUE(eventually([&] {
    answer = kept.request("POST", "/search", kShutdownQuery);
    return !answer || says_close(*answer);
  }));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_TRUE(kept.closed());
  int accepted = 0;
  for (; HttpClient(master.port()).connected(); ++accepted) {
    const auto fresh = post(master.port(), "/search", kShutdownQuery);
    if (fresh.status == 0) break;  // the socket has closed since
    EXPECT_EQ(fresh.status, 200);
    EXPECT_TRUE(says_close(fresh));
    nap();
  }
  EXPECT_GE(std::chrono::steady_clock::now() - began, 2s);
  EXPECT_GT(accepted, 10);
  EXPECT_EQ(master.process().wait(), 0) << master.process().output();
}

TEST(ADrainDelay, IsOnlyForTermAndEndsWithASecondSignal) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  {
    Master master("drain_delay = 1h", table(mirror));
    ASSERT_TRUE(master.ready());
    master.process().signal(SIGINT);
    EXPECT_EQ(master.process().wait(), 0) << master.process().output();
  }
  Master master("drain_delay = 1h", table(mirror));
  ASSERT_TRUE(master.ready());
  master.process().signal(SIGTERM);
  ASSERT_TRUE(master.process().wait_for("/readyz answers 503"));
  EXPECT_EQ(post(master.port(), "/search", kShutdownQuery).status, 200);
  master.process().signal(SIGINT);
  EXPECT_EQ(master.process().wait(), 1) << master.process().output();
}

}  // namespace
}  // namespace karmad::test
