// Rates are a few an hour, so that no token comes back while a test runs; bursts are whole hours.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

using Client = std::unique_ptr<HttpClient>;

Client client_at(const Master& master, const char* from = nullptr) {
  return std::make_unique<HttpClient>(master.port(), 0, from);
}

int status_of(HttpClient& client, std::string_view target = "/healthz") {
  const auto answer = client.request("GET", target);
  return answer ? answer->status : 0;
}

int search_by(HttpClient& client, std::string_view fields = {}) {
  const auto answer = client.request("POST", "/search", kFindAll, fields);
  return answer ? answer->status : 0;
}

/// A counter of SHOW STATUS, read over an existing connection.
std::int64_t count_by(HttpClient& client, const std::string& key) {
  const auto answer = client.request("POST", "/sql?mode=raw", "SHOW STATUS");
  const auto name = fmt::format("\"{}\",\"Value\":\"", key);
  const auto found = answer ? answer->body.find(name) : std::string::npos;
  return found == std::string::npos ? -1 : std::atoll(answer->body.c_str() + found + name.size());
}

void expect_over_rate(const std::optional<Response>& answer, std::string_view setting) {
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 429);
  EXPECT_EQ(answer->fields.at("x-error-labels"), "SystemOverloadedError, RetryableError");
  EXPECT_GE(std::atoi(answer->fields.at("retry-after").c_str()), 1);
  EXPECT_TRUE(answer->body.contains(R"("code":462)")) << answer->body;
  EXPECT_TRUE(answer->body.contains(R"("labels":["SystemOverloadedError","RetryableError"])"));
  EXPECT_TRUE(answer->body.contains(fmt::format("'{}'", setting))) << answer->body;
}

/// The requests that check for rest at the end of a test would exceed the rates.
class LimitedMaster : public Master {
 public:
  LimitedMaster(const std::string& searchd, const std::string& tables)
      : Master(searchd, tables), tables_(tables) {}
  LimitedMaster(const LimitedMaster&) = delete;
  LimitedMaster& operator=(const LimitedMaster&) = delete;
  ~LimitedMaster() {
    if (process().wait(0ms)) return;
    EXPECT_TRUE(reload(taking_turns(), tables_));
  }

 private:
  std::string tables_;
};

class Rates : public testing::Test {
 protected:
  FakeSet mirrors{1};
};

// AC-040, AC-043, AC-044, AC-036
TEST_F(Rates, ConnectionsOverTheRateWaitInABoundedQueueThatPeersMayLeave) {
  const LimitedMaster master(
      taking_turns("ingress_connection_rate = 3/h\n ingress_connection_burst = 1h\n"
                   " ingress_connection_queue = 1"),
      mirrors.table());
  const auto control = client_at(master);
  const auto second = client_at(master);
  const auto third = client_at(master);
  for (const auto* client : {&control, &second, &third}) EXPECT_EQ(status_of(**client), 200);
  const auto queued = [&](std::int64_t connections) {
    return eventually([&] { return count_by(*control, "connections_queued") == connections; });
  };
  for (int round = 0; round < 3; ++round) {
    auto waiting = client_at(master);
    // The end of the connection is noticed although unread bytes arrived before.
    if (round > 0) waiting->send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(queued(1)) << round;
    const auto refused = client_at(master);
    const auto answer = refused->receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 429);
    EXPECT_TRUE(answer->body.contains("ingress_connection_rate")) << answer->body;
    EXPECT_TRUE(refused->closed());
    if (round == 2) waiting->reset();
    waiting.reset();
    ASSERT_TRUE(queued(0)) << round;
  }
  EXPECT_EQ(count_by(*control, "connections_over_rate"), 3);
  EXPECT_EQ(status_of(*second), 200) << "who is in stays in";
}

TEST_F(Rates, ConnectionsThatWaitAreServedInTheEndAndClosedAtAStop) {
  LimitedMaster master(
      taking_turns("ingress_connection_rate = 20/s\n ingress_connection_burst = 50ms\n"
                   " ingress_connection_queue = 100"),
      mirrors.table());
  std::vector<Client> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(client_at(master));
  for (const auto& client : clients) EXPECT_EQ(status_of(*client), 200);
  ASSERT_TRUE(master.reload(taking_turns("ingress_connection_rate = 1/h\n"
                                         " ingress_connection_burst = 1h\n"
                                         " ingress_connection_queue = 1"),
                            mirrors.table()));
  // At most one token is left; further connections wait, and those beyond the queue are refused.
  std::vector<Client> more;
  for (int i = 0; i < 3; ++i) more.push_back(client_at(master));
  EXPECT_TRUE(eventually([&] { return count_by(*clients[0], "connections_over_rate") >= 1; }));
  EXPECT_EQ(count_by(*clients[0], "connections_queued"), 1);
  master.process().signal(SIGTERM);
  for (auto& client : more) client->rest();
  EXPECT_EQ(master.process().wait(), 0);
}

// A waiting connection counts for `max_connections` already: it is not refused when its turn comes,
// and no connection beyond the limit enters the queue.
TEST_F(Rates, ConnectionsThatWaitKeepTheirPlace) {
  const LimitedMaster master(
      taking_turns(
          "max_connections = 2\n ingress_connection_rate = 20/s\n"
          " ingress_connection_burst = 50ms\n ingress_connection_queue = 10\n workers = 1"),
      mirrors.table());
  const auto first = client_at(master);
  EXPECT_EQ(status_of(*first), 200);
  const auto second = client_at(master);
  const auto third = client_at(master);
  const auto answer = third->receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 429);
  EXPECT_TRUE(answer->body.contains("max_connections")) << answer->body;
  EXPECT_EQ(status_of(*second), 200);
}

TEST_F(Rates, ConnectionsFromBypassRangesNeedNoToken) {  // AC-042
  const LimitedMaster master(
      taking_turns("ingress_connection_rate = 1/h\n ingress_connection_burst = 1h\n"
                   " ingress_connection_bypass = ::/0, 127.0.0.2/31"),
      mirrors.table());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(*client_at(master, "127.0.0.2")), 200);
  EXPECT_EQ(status_of(*client_at(master, "127.0.0.3")), 200);
  const auto first = client_at(master, "127.0.0.4");
  EXPECT_EQ(status_of(*first), 200);
  EXPECT_EQ(client_at(master, "127.0.0.5")->receive()->status, 429);
}

TEST_F(Rates, RequestsOverTheRateGetRetryAfter) {  // AC-050, AC-054, BP-015
  const LimitedMaster master(
      taking_turns("ingress_request_rate = 3/h\n ingress_request_burst = 1h\n"
                   " ingress_request_exempt = 127.0.0.2"),
      mirrors.table());
  const auto client = client_at(master);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(search_by(*client), 200);
  const auto answer = client->request("POST", "/search", kFindAll);
  expect_over_rate(answer, "ingress_request_rate");
  const auto seconds = std::atoi(answer->fields.at("retry-after").c_str());
  EXPECT_LE(seconds, 1200);
  EXPECT_GT(seconds, 1000);
  EXPECT_FALSE(answer->fields.contains("connection")) << "its body was small: it stays";
  // Requests about karmad itself (AC-053) and exempt clients are not limited.
  for (const auto* path :
       {"/healthz", "/readyz", "/agents", "/hello", "/status", "/metrics", "/events", "/admission"})
    EXPECT_EQ(status_of(*client, path), 200) << path;
  const auto exempt = client_at(master, "127.0.0.2");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(search_by(*exempt), 200);
  EXPECT_EQ(count_by(*exempt, "requests_over_rate"), 1);
  EXPECT_EQ(mirrors.requests(), 8u);
}

// AC-051: what is over the rate is refused at once, and the queue for tickets stays short.
TEST_F(Rates, RequestsOverTheRateDoNotQueueForATicket) {
  mirrors[0].hold();
  const LimitedMaster master(
      taking_turns("ingress_request_rate = 3/h\n ingress_request_burst = 1h\n"
                   " ingress_request_exempt = 127.0.0.2\n search_tickets = 1\n"
                   " ticket_queue_depth = 100"),
      mirrors.table());
  const auto control = client_at(master, "127.0.0.2");
  std::vector<Pending> admitted;
  for (int i = 0; i < 3; ++i) admitted.emplace_back(master, "/search", kFindAll);
  ASSERT_TRUE(eventually([&] { return count_by(*control, "search_tickets_queued") == 2; }));
  const auto client = client_at(master);
  for (int i = 0; i < 5; ++i)
    expect_over_rate(client->request("POST", "/search", kFindAll), "ingress_request_rate");
  EXPECT_EQ(count_by(*control, "search_tickets_queued"), 2);
  EXPECT_TRUE(eventually([&] { return mirrors.requests() == 1; }));
  mirrors[0].release();
  for (auto& search : admitted) EXPECT_EQ(search.answer().status, 200);
  EXPECT_EQ(mirrors.requests(), 3U);
}

TEST_F(Rates, TheBodyOfARefusedRequestIsDroppedOrTheConnectionClosed) {  // AC-050
  const LimitedMaster master(
      taking_turns("ingress_request_rate = 1/h\n ingress_request_burst = 1h"), mirrors.table());
  const std::string post = "POST /search HTTP/1.1\r\nHost: h\r\n";
  const auto keeping = client_at(master);
  EXPECT_EQ(search_by(*keeping), 200);
  keeping->send(post + "Content-Length: 5\r\n\r\nabcde" + post + "Content-Length: 0\r\n\r\n" +
                "GET /search HTTP/1.0\r\n\r\n");
  for (int i = 0; i < 3; ++i) expect_over_rate(keeping->receive(), "ingress_request_rate");
  EXPECT_TRUE(keeping->closed()) << "as HTTP/1.0 does";
  const auto to_head = client_at(master);
  to_head->send("HEAD /search HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(to_head->receive(true)->status, 429);
  EXPECT_EQ(status_of(*to_head), 200);
  for (const auto& [head, body] : {std::pair("Content-Length: 1000000\r\n\r\n", "{"),
                                   {"Transfer-Encoding: chunked\r\n\r\n", "1\r\n{\r\n0\r\n\r\n"},
                                   {"Content-Length: 1\r\nExpect: 100-continue\r\n\r\n", ""}}) {
    const auto closing = client_at(master);
    closing->send(post + head + body);
    const auto answer = closing->receive();
    expect_over_rate(answer, "ingress_request_rate");
    EXPECT_EQ(answer->fields.at("connection"), "close") << head;
    EXPECT_EQ(closing->rest(), "") << head;
  }
  EXPECT_EQ(mirrors.requests(), 1u);
}

TEST_F(Rates, OfClientsAreKeptForALimitedNumberOfClients) {
  const LimitedMaster master(taking_turns("client_request_rate = 2/h\n client_request_burst = 1h\n"
                                          " client_request_remembered = 2"),
                             mirrors.table());
  const auto searches = [&](const char* from) {
    const auto client = client_at(master, from);
    EXPECT_EQ(search_by(*client), 200) << from;
    EXPECT_EQ(search_by(*client), 200) << from;
    expect_over_rate(client->request("POST", "/search", kFindAll), "client_request_rate");
    EXPECT_EQ(status_of(*client), 200);
  };
  searches("127.0.0.2");
  searches("127.0.0.3");
  EXPECT_EQ(search_by(*client_at(master, "127.0.0.2")), 429) << "another connection, same client";
  searches("127.0.0.4");
  EXPECT_EQ(search_by(*client_at(master, "127.0.0.2")), 429);
  searches("127.0.0.3");  // forgotten
  EXPECT_EQ(mirrors.requests(), 8u);
}

TEST_F(Rates, OfClientsGoByTheValueOfAHeaderThatTheConfigurationNames) {
  const auto settings = [](const char* header) {
    return taking_turns(
        fmt::format("client_request_rate = 1/h\n client_request_burst = 1h\n"
                    " client_request_header = {}",
                    header));
  };
  LimitedMaster master(settings("X-Api-Key"), mirrors.table());
  const auto search = [&](const std::string& fields, const char* from = "127.0.0.2") {
    return client_at(master, from)->request("POST", "/search", kFindAll, fields)->status;
  };
  EXPECT_EQ(search("X-Api-Key: red\r\n"), 200);
  EXPECT_EQ(search("x-api-key: red\r\n", "127.0.0.3"), 429) << "another address";
  EXPECT_EQ(search("X-Api-Key: blue\r\n"), 200);
  EXPECT_EQ(search("X-Api-Key: blue\r\nAuthorization: Bearer one\r\n"), 429);
  EXPECT_EQ(search(""), 200) << "without it the address counts";
  EXPECT_EQ(search("X-Api-Key: \r\n"), 429);
  EXPECT_EQ(search("", "127.0.0.3"), 200);
  EXPECT_EQ(search("X-Api-Key: green\r\nx-api-key: red\r\n"), 400);
  EXPECT_EQ(search("X-Api-Key: green\r\n"), 200) << "the former request has not used it up";
  ASSERT_TRUE(master.reload(settings("Authorization"), mirrors.table()));
  EXPECT_EQ(search("Authorization: Bearer one\r\nX-Api-Key: red\r\n"), 200);
  EXPECT_EQ(search("Authorization: Bearer one\r\n", "127.0.0.4"), 429);
}

// An exempt application, named in either header, passes both rates and is counted.
TEST_F(Rates, ExemptApplicationsByThePrefixOfTheirName) {  // AC-056
  const std::string rates =
      "ingress_request_rate = 1/h\n ingress_request_burst = 1h\n client_request_rate = 1/h\n"
      " client_request_burst = 1h\n";
  LimitedMaster master(taking_turns(rates + " ingress_request_exempt_apps = night-, Board/1"),
                       mirrors.table());
  const auto client = client_at(master);
  EXPECT_EQ(search_by(*client), 200);
  for (const auto* name : {"X-App-Name: night-job\r\n", "User-Agent: Board/1.2 (x)\r\n",
                           "User-Agent: curl\r\nx-app-name: Board/1\r\n"})
    EXPECT_EQ(search_by(*client, name), 200) << name;
  for (const auto* name : {"", "X-App-Name: night\r\n", "X-App-Name: Night-job\r\n",
                           "User-Agent: a Board/1\r\n", "X-App: night-job\r\n"})
    EXPECT_EQ(search_by(*client, name), 429) << name;
  const auto limiters = client->request("GET", "/admission")->body;
  for (const auto* of : {"ingressRequestRateLimiter", "client_request_rate"})
    EXPECT_EQ(at(limiters, fmt::format("/limiters/network/{}/exemptedAdmissions", of)), "4")
        << "three, and this one";
  EXPECT_EQ(mirrors.requests(), 4u);
  ASSERT_TRUE(master.reload(taking_turns(rates), mirrors.table()));
  EXPECT_EQ(search_by(*client_at(master), "X-App-Name: night-job\r\n"), 429) << "unless told";
}

TEST_F(Rates, OfATableDoNotLimitOtherTables) {
  auto tables = mirrors.table("request_rate = 2/h\n request_burst = 1h");
  tables += fmt::format("table free {{\n type = distributed\n agent = {}:products\n}}\n",
                        mirrors[0].address());
  LimitedMaster master(taking_turns(), tables);
  const auto client = client_at(master);
  EXPECT_EQ(search_by(*client), 200);
  EXPECT_EQ(search_by(*client), 200);
  expect_over_rate(client->request("POST", "/search", kFindAll), "request_rate");
  EXPECT_EQ(client->request("POST", "/search", R"({"table":"free"})")->status, 200);
  EXPECT_EQ(count_by(*client, "requests_over_table_rate"), 1);
  // A reload keeps the number of tokens, also if it is zero.
  ASSERT_TRUE(master.reload(taking_turns("explain_requests = 65"), tables));
  EXPECT_EQ(search_by(*client), 429);
  ASSERT_TRUE(master.reload(taking_turns(), mirrors.table()));
  EXPECT_EQ(search_by(*client), 200);
}

TEST_F(Rates, AreCountedAndNotEnforcedInMonitorMode) {
  const std::string rates =
      " ingress_connection_rate = 2/h\n ingress_connection_burst = 1h\n"
      " ingress_request_rate = 2/h\n ingress_request_burst = 1h\n"
      " client_request_rate = 1/h\n client_request_burst = 1h";
  const auto tables = mirrors.table("request_rate = 3/h\n request_burst = 1h");
  LimitedMaster master(taking_turns("admission = monitor\n" + rates), tables);
  std::vector<Client> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(client_at(master));
    EXPECT_EQ(search_by(*clients.back()), 200);
  }
  auto& client = *clients.front();
  const auto limiters = client.request("GET", "/admission")->body;
  const auto has = [&](const std::string& pointer, int number) {
    EXPECT_EQ(at(limiters, "/limiters" + pointer), std::to_string(number)) << pointer;
  };
  has("/queues/ingressSessionEstablishment/attemptedAdmissions", 5);
  has("/queues/ingressSessionEstablishment/rejectedAdmissions", 3);
  has("/queues/ingressSessionEstablishment/totalAvailableTokens", 0);
  has("/connections/establishmentRateLimit/rejected", 3);
  has("/network/ingressRequestRateLimiter/attemptedAdmissions", 5);
  has("/network/ingressRequestRateLimiter/successfulAdmissions", 2);
  has("/network/ingressRequestRateLimiter/rejectedAdmissions", 3);
  has("/network/ingressRequestRateLimiter/exemptedAdmissions", 1);
  has("/network/client_request_rate/rejectedAdmissions", 4);
  has("/network/client_request_rate/remembered", 1);
  has("/network/request_rate/t/rejectedAdmissions", 2);
  EXPECT_NE(at(limiters, "/limiters/metrics/network/averageTimeToCompletedHelloMicros"), "");
  EXPECT_EQ(count_by(client, "requests_over_rate"), 0);
  ASSERT_TRUE(master.reload(taking_turns(rates), tables));
  EXPECT_EQ(search_by(client), 429) << "and now they are";
  ASSERT_TRUE(master.reload(taking_turns("admission = off\n" + rates), tables));
  EXPECT_EQ(search_by(*client_at(master)), 200);
}

// Connections that send nothing, single bytes or only heads do not stop other clients.
TEST_F(Rates, SlowClientsDoNotStopOthers) {
  const LimitedMaster master(taking_turns("network_timeout = 1m"), mirrors.table());
  std::vector<Client> slow;
  const std::string head = "POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n";
  for (std::size_t i = 0; i < 300; ++i) {
    slow.push_back(client_at(master));
    ASSERT_TRUE(slow.back()->connected());
    if (i % 3 == 1) slow.back()->send(head.substr(0, 1 + i % 40));
    if (i % 3 == 2) slow.back()->send(head);
  }
  const auto client = client_at(master);
  for (std::size_t i = 0; i < 50; ++i) {
    if (i % 3 == 1) slow[i]->send(head.substr(1 + i % 40, 1));
    EXPECT_EQ(search_by(*client), 200);
    EXPECT_EQ(status_of(*client, "/agents"), 200);
  }
  EXPECT_EQ(count_by(*client, "connections_open"), 301);
}

}  // namespace
}  // namespace karmad::test
