#include <fmt/format.h>
#include <gtest/gtest.h>

#include <condition_variable>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kSignalQuery = R"({"table":"t"})";
const std::string kRequest =
    "POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n\r\n" + std::string(kSignalQuery);

std::string table(const FakeMirror& mirror) {
  return fmt::format("table t {{\n type = distributed\n agent = {}:t\n}}\n", mirror.address());
}

/// A mirror that answers when the test tells it to.
class Held {
 public:
  ~Held() { release(); }
  void release() {
    const std::scoped_lock lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  Reaction wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return released_; });
    return json(R"({"late":true})");
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;

 public:
  FakeMirror mirror{[this](const std::string&) { return wait(); }};
};

class Stopping : public testing::TestWithParam<int> {};

TEST_P(Stopping, AnswersRequestsInProgressAndAcceptsNoNewOnes) {
  Held held;
  Master master("workers = 2", table(held.mirror));
  ASSERT_TRUE(master.ready());
  HttpClient idle(master.port());
  ASSERT_EQ(idle.request("GET", "/healthz")->status, 200);
  HttpClient busy(master.port());
  // A second request behind it comes too late.
  ASSERT_TRUE(busy.send(kRequest + kRequest));
  ASSERT_TRUE(eventually([&] { return held.mirror.connections() >= 2; }));  // ping and query
  master.process().signal(GetParam());
  ASSERT_TRUE(master.process().wait_for("stopping"));
  EXPECT_TRUE(idle.closed());
  EXPECT_TRUE(eventually([&] { return !HttpClient(master.port()).connected(); }));
  EXPECT_EQ(master.process().wait(0ms), std::nullopt);
  held.release();
  const auto answer = busy.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, R"({"late":true})");
  EXPECT_EQ(answer->fields.at("connection"), "close");
  EXPECT_EQ(busy.rest(), "");
  EXPECT_EQ(master.process().wait(), 0) << master.process().output();
  EXPECT_TRUE(master.process().output().contains("stopped"));
}

TEST_P(Stopping, WithNothingUnderWayIsAtOnce) {
  FakeMirror mirror([](const std::string&) { return json("{}"); });
  Master master("network_timeout = 5m\n shutdown_timeout = 5m", table(mirror));
  ASSERT_TRUE(master.ready());
  ASSERT_EQ(master.search(std::string(kSignalQuery)).status, 200);
  HttpClient half(master.port());
  HttpClient idle(master.port());
  ASSERT_EQ(idle.request("GET", "/healthz")->status, 200);
  master.process().signal(GetParam());
  EXPECT_EQ(master.process().wait(), 0) << master.process().output();
  EXPECT_TRUE(eventually([&] { return mirror.open_connections() == 0; }));
}

TEST_P(Stopping, ASecondSignalEndsTheProcessAtOnceWithStatusOne) {
  Held held;
  Master master("agent_query_timeout = 1h\n request_timeout = 1h", table(held.mirror));
  ASSERT_TRUE(master.ready());
  HttpClient busy(master.port());
  ASSERT_TRUE(busy.send(kRequest));
  ASSERT_TRUE(eventually([&] { return held.mirror.connections() >= 2; }));
  master.process().signal(GetParam());
  ASSERT_TRUE(master.process().wait_for("stopping"));
  master.process().signal(GetParam());
  EXPECT_EQ(master.process().wait(), 1) << master.process().output();
}

TEST_P(Stopping, CancelsRequestsAfterTheShutdownTimeout) {
  Held held;
  Master master("agent_query_timeout = 1h\n request_timeout = 1h\n shutdown_timeout = 300ms",
                table(held.mirror));
  ASSERT_TRUE(master.ready());
  HttpClient busy(master.port());
  ASSERT_TRUE(busy.send(kRequest));
  ASSERT_TRUE(eventually([&] { return held.mirror.connections() >= 2; }));
  const auto began = std::chrono::steady_clock::now();
  master.process().signal(GetParam());
  EXPECT_EQ(master.process().wait(), 0) << master.process().output();
  EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms);
  EXPECT_TRUE(master.process().output().contains("shutdown_timeout")) << master.process().output();
  EXPECT_TRUE(busy.closed());
}

INSTANTIATE_TEST_SUITE_P(By, Stopping, testing::Values(SIGTERM, SIGINT),
                         [](const testing::TestParamInfo<int>& signal) {
                           return signal.param == SIGTERM ? "Term" : "Int";
                         });

TEST(Stopping, WithClientsInEveryStateEndsCleanly) {
  FakeMirror mirror([](const std::string&) { return Reaction{"", Reaction::Then::hang}; });
  Master master("shutdown_timeout = 200ms\n agent_query_timeout = 1h\n request_timeout = 1h",
                table(mirror));
  ASSERT_TRUE(master.ready());
  HttpClient idle(master.port());
  idle.request("GET", "/healthz");
  HttpClient fresh(master.port());
  HttpClient in_head(master.port());
  in_head.send("GET / HT");
  HttpClient in_body(master.port());
  in_body.send(kRequest.substr(0, kRequest.size() - 3));
  HttpClient in_chunk(master.port());
  in_chunk.send("POST /search HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab");
  HttpClient refused(master.port());
  refused.send("nonsense\r\n\r\n");
  HttpClient asking(master.port());
  asking.send(kRequest);
  ASSERT_TRUE(refused.receive());
  ASSERT_TRUE(eventually([&] { return mirror.requests() == 1; }));
  master.process().signal(SIGTERM);
  EXPECT_EQ(master.process().wait(), 0) << master.process().output();
}

TEST(Readiness, ComesWithTheFirstAnswerOfEveryShardAndNamesWhatIsMissing) {
  FakeMirror first([](const std::string&) { return json("{}"); });
  FakeMirror second([](const std::string&) { return json("", 500); }, true);
  ClosedPort closed_port;
  Master master(
      "ha_ping_interval = 20ms",
      fmt::format("table t {{\n type = distributed\n agent = {}:a\n agent = {}|{}:b\n}}\n",
                  first.address(), second.address(), closed_port.address()));
  EXPECT_EQ(get(master.port(), "/healthz").status, 200);
  Response answer;
  const auto names = [&](const std::string& what) { return answer.body.contains(what); };
  // After the first pings shard 1 has a live mirror and shard 2 has none; both mirrors of shard 2
  // are named.
  EXPECT_TRUE(eventually([&] {
    answer = get(master.port(), "/readyz");
    return !names(first.address()) && names("status 500") && names("refused");
  })) << answer.body;
  EXPECT_EQ(answer.status, 503);
  EXPECT_TRUE(names(R"("table":"t","shard":2)")) << answer.body;
  EXPECT_TRUE(names(second.address()));
  EXPECT_TRUE(names(closed_port.address()));
  EXPECT_TRUE(names(R"("ready":false)"));
  EXPECT_TRUE(names(R"("draining":false)"));
  second.react([](const std::string&) { return json("{}"); });
  EXPECT_TRUE(master.ready());
  EXPECT_TRUE(get(master.port(), "/readyz").body.contains(R"("ready":true)"));
  second.react([](const std::string&) { return json("", 500); });
  EXPECT_TRUE(eventually([&] { return get(master.port(), "/readyz").status == 503; }));
  EXPECT_EQ(get(master.port(), "/healthz").status, 200);
}

}  // namespace
}  // namespace karmad::test
