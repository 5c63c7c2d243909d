#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

/// A mirror that tells the body it got.
Reaction echo(const std::string& request) {
  const auto body = request.substr(request.find("\r\n\r\n") + 4);
  return json(fmt::format(R"({{"echo":{}}})", body.empty() ? "null" : body));
}

/// karmad with one worker, so that what is sent first is also read first, and a mirror that echoes.
class Ingress : public testing::Test {
 protected:
  FakeMirror mirror{echo};
  Master master{"workers = 1", fmt::format("table t {{\n type = distributed\n agent = {}:t\n}}",
                                           mirror.address())};

  static std::string body(int number) {
    return fmt::format(R"({{"table":"t","limit":{}}})", number);
  }
  static std::string search(int number, std::string_view fields = {}) {
    return fmt::format("POST /search HTTP/1.1\r\nHost: h\r\n{}Content-Length: {}\r\n\r\n{}", fields,
                       body(number).size(), body(number));
  }
  static std::string told(int number) { return fmt::format(R"({{"echo":{}}})", body(number)); }
  static std::string in_chunks(int number, std::size_t step) {
    std::string out;
    const auto whole = body(number);
    for (std::size_t at = 0; at < whole.size(); at += step) {
      const auto piece = whole.substr(at, step);
      out += fmt::format("{:x};name=\"v\"\r\n{}\r\n", piece.size(), piece);
    }
    return "POST /search HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + out +
           "0\r\nTrailer: x\r\n\r\n";
  }
  void expect_told(HttpClient& client, int number) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << number;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, told(number));
    EXPECT_EQ(answer->fields.at("content-type"), "application/json; charset=UTF-8");
  }
};

TEST_F(Ingress, KeepsAConnectionForManyRequests) {
  HttpClient client(master.port());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client.send(search(i)));
    expect_told(client, i);
  }
  EXPECT_EQ(client.request("GET", "/nothing")->status, 404);  // no reason to part either
  EXPECT_EQ(client.request("GET", "/healthz")->status, 200);
}

TEST_F(Ingress, AnswersPipelinedRequestsInOrder) {
  for (const int many : {2, 50}) {
    HttpClient client(master.port());
    std::string requests;
    for (int i = 0; i < many; ++i) requests += i % 3 == 1 ? in_chunks(i, 5) : search(i);
    ASSERT_TRUE(client.send(requests));
    for (int i = 0; i < many; ++i) expect_told(client, i);
  }
}

TEST_F(Ingress, AnswersPipelinedRequestsOfAllKindsInOrder) {
  HttpClient client(master.port());
  ASSERT_TRUE(client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n" + search(1) +
                          "\r\n\r\nHEAD /healthz HTTP/1.1\r\nHost: h\r\n\r\n" + in_chunks(2, 3) +
                          "GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n" +
                          search(3, "Connection: close\r\n") + search(4)));
  EXPECT_EQ(client.receive()->body, R"({"status":"ok"})");
  expect_told(client, 1);
  EXPECT_EQ(client.receive(true)->status, 200);
  expect_told(client, 2);
  EXPECT_EQ(client.receive()->status, 404);
  expect_told(client, 3);
  EXPECT_TRUE(client.closed());  // bytes after `close` are ignored
}

TEST_F(Ingress, UnderstandsARequestThatComesInTwoPiecesWhereverItIsCut) {
  HttpClient client(master.port());
  HttpClient other(master.port());
  for (const auto& request : {search(7), in_chunks(7, 9)})
    for (std::size_t cut = 1; cut < request.size(); ++cut) {
      SCOPED_TRACE(request.substr(0, cut));
      ASSERT_TRUE(client.send(request.substr(0, cut)));
      ASSERT_TRUE(other.request("GET", "/healthz"));  // the first piece was read before this
      ASSERT_TRUE(client.send(request.substr(cut)));
      ASSERT_NO_FATAL_FAILURE(expect_told(client, 7));
    }
}

TEST_F(Ingress, ReadsBodiesWithALengthAndInChunksOfAnySize) {
  HttpClient client(master.port());
  for (const std::size_t step : {1, 2, 7, 1000}) {
    ASSERT_TRUE(client.send(in_chunks(5, step)));
    expect_told(client, 5);
  }
  // Larger than any buffer there is.
  const auto large = fmt::format(R"({{"table":"t","x":"{}"}})", std::string(3'000'000, 'x'));
  const auto answer = client.request("POST", "/search", large);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, fmt::format(R"({{"echo":{}}})", large));
  std::string chunked = "POST /search HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < large.size(); at += 100'000) {
    const auto piece = large.substr(at, 100'000);
    chunked += fmt::format("{:X}\r\n{}\r\n", piece.size(), piece);
  }
  ASSERT_TRUE(client.send(chunked + "0\r\n\r\n" + search(1)));
  EXPECT_EQ(client.receive()->body, fmt::format(R"({{"echo":{}}})", large));
  expect_told(client, 1);
}

TEST_F(Ingress, SendsContinueToAClientThatExpectsIt) {
  for (const bool chunked : {false, true}) {
    HttpClient client(master.port());
    const auto length = chunked ? std::string("Transfer-Encoding: chunked")
                                : fmt::format("Content-Length: {}", body(3).size());
    ASSERT_TRUE(client.send(fmt::format(
        "POST /search HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n{}\r\n\r\n", length)));
    const auto go_on = client.receive();
    ASSERT_TRUE(go_on);
    EXPECT_EQ(go_on->status, 100);
    ASSERT_TRUE(client.send(
        chunked ? fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", body(3).size(), body(3)) : body(3)));
    expect_told(client, 3);
  }
}

TEST_F(Ingress, DoesNotSayContinueWhenTheBodyIsThereOrUnwanted) {
  HttpClient impatient(master.port());
  ASSERT_TRUE(impatient.send(search(4, "Expect: 100-continue\r\n")));
  expect_told(impatient, 4);
  HttpClient old(master.port());
  ASSERT_TRUE(
      old.send("POST /search HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 20\r\n\r\n"));
  ASSERT_TRUE(old.send(R"({"table":"t","a":10})"));
  EXPECT_EQ(old.receive()->status, 200);
  HttpClient huge(master.port());
  ASSERT_TRUE(
      huge.send("POST /search HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                "Content-Length: 999999999999\r\n\r\n"));
  EXPECT_EQ(huge.receive()->status, 413);
  for (const auto* body : {"Content-Length: 12", "Transfer-Encoding: chunked"}) {
    HttpClient lost(master.port());
    ASSERT_TRUE(lost.send(fmt::format(
        "PUT /serach HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n{}\r\n\r\n", body)));
    const auto answer = lost.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 404) << body;
    EXPECT_TRUE(answer->body.contains("/serach")) << answer->body;
    EXPECT_EQ(answer->fields.at("connection"), "close") << body;
    EXPECT_TRUE(lost.closed());
  }
}

TEST_F(Ingress, AnswersHeadWithTheHeadOfGetAndNoBody) {
  HttpClient client(master.port());
  for (const auto* path : {"/", "/healthz", "/nothing"}) {
    const auto full = client.request("GET", path, {}, "X-Request-Id: 7\r\n");
    const auto head = client.request("HEAD", path, {}, "X-Request-Id: 7\r\n");
    ASSERT_TRUE(full && head);
    EXPECT_EQ(head->status, full->status) << path;
    EXPECT_EQ(head->fields, full->fields) << path;
    EXPECT_FALSE(full->body.empty());
  }
  EXPECT_EQ(client.request("HEAD", "/search")->status, 405);
  EXPECT_EQ(client.request("GET", "/healthz")->body, R"({"status":"ok"})");  // no byte too many
}

TEST_F(Ingress, ClosesOnRequestAndForHttp10) {
  const struct {
    std::string_view version;
    std::string_view fields;
    bool stays;
    std::string_view said;
  } cases[] = {
      {"1.1", "", true, ""},
      {"1.1", "Connection: close\r\n", false, "close"},
      {"1.1", "Connection: x, CLOSE\r\n", false, "close"},
      {"1.1", "Connection: x\r\nConnection: close\r\n", false, "close"},
      {"1.1", "Connection: keep-alive\r\n", true, ""},
      {"1.0", "", false, "close"},
      {"1.0", "Connection: close\r\n", false, "close"},
      {"1.0", "Connection: Keep-Alive\r\n", true, "keep-alive"},
      {"1.0", "Connection: keep-alive, close\r\n", false, "close"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.version, c.fields));
    HttpClient client(master.port());
    ASSERT_TRUE(
        client.send(fmt::format("GET /healthz HTTP/{}\r\nHost: h\r\n{}\r\n", c.version, c.fields)));
    auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->fields["connection"], c.said);
    if (c.stays) {
      EXPECT_EQ(client.request("GET", "/healthz")->status, 200);
    } else {
      EXPECT_TRUE(client.closed());
    }
  }
}

TEST_F(Ingress, CountsRequestsAndConnections) {
  const auto before = master.count("requests");
  const auto connections = master.count("connections");
  {
    HttpClient client(master.port());
    std::string requests;
    for (int i = 0; i < 10; ++i) requests += search(i);
    client.send(requests);
    for (int i = 0; i < 10; ++i) expect_told(client, i);
    EXPECT_EQ(master.count("requests"), before + 10 + 2);  // each question is a request of its own
    EXPECT_EQ(master.count("connections"), connections + 1 + 2);
    EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 2; }));
  }
  EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 1; }));
}

}  // namespace
}  // namespace karmad::test
