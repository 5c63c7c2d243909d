#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) {
  return random() % limit;
}

/// Changes, inserts, removes or repeats a few bytes; those that matter to HTTP and JSON more often.
std::string mutated(std::string text, Random& random) {
  constexpr std::string_view marks = "\r\n\r\n :,;\"{}[]\\/*?#%0159afe-+.chunked\x16\x7f\xff";
  for (auto changes = below(random, 4); changes > 0 && !text.empty(); --changes) {
    const auto at = below(random, text.size());
    const char byte =
        random() % 4 == 0 ? static_cast<char>(random()) : marks[below(random, marks.size())];
    switch (random() % 5) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.erase(at, 1 + below(random, 5));
        break;
      case 3:
        text.resize(at);
        break;
      default:
        text.insert(at, text.substr(below(random, text.size()), below(random, 60)));
    }
  }
  return text;
}

constexpr std::string_view kMark = "mark-";
constexpr std::string_view kOwnMark = "mark-000000000000";  ///< replaced by that of a request

std::string posted(std::string_view target, std::string_view body, std::string_view fields = {}) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: h\r\n{}Content-Length: {}\r\n\r\n{}", target,
                     fields, body.size(), body);
}

const std::string kReply =
    R"({"took":1,"timed_out":false,"hits":{"total":2,"total_relation":"eq","hits":[)"
    R"({"_id":1,"_score":7,"_source":{"title":"mark-000000000000","x":"a \"b\" c","price":1.5,"tags":[1,2]}},)"
    R"({"_id":9007199254740993,"_score":3,"_source":{"title":"d","price":-2e3,"tags":[]}}]},)"
    R"("aggregations":{"g":{"buckets":[{"key":1,"doc_count":2}]}}})";

/// A small cluster with a table of each kind, mirrors that answer alike.
class Fuzzed : public testing::Test {
 protected:
  FakeMirror a{[](const std::string&) { return json(kReply); }};
  FakeMirror b{[](const std::string&) { return json(kReply); }};
  Master master{
      "workers = 2\n network_timeout = 200ms\n agent_query_timeout = 200ms\n"
      "max_packet_size = 1m\n ha_ping_interval = 0\n",
      fmt::format("table one {{\n type = distributed\n agent = {0}|{1}:t\n}}\n"
                  "table two {{\n type = distributed\n agent = {0}:t\n agent = {1}:t\n}}\n"
                  "table web {{\n type = distributed\n dialect = http\n route = /web\n"
                  " agent = {0}|{1}\n}}\n",
                  a.address(), b.address())};

  /// Checks that karmad runs, answers, and holds no connections.
  void expect_well() {
    ASSERT_EQ(master.process().wait(0ms), std::nullopt) << master.process().output();
    for (const auto* name : {"one", "two"}) {
      const auto answer = master.search(fmt::format(R"({{"table":"{}"}})", name));
      ASSERT_EQ(answer.status, 200) << answer.body;
      EXPECT_TRUE(answer.body.contains("9007199254740993")) << answer.body;
    }
    EXPECT_EQ(get(master.port(), "/web/x").status, 200);
    EXPECT_TRUE(eventually([&] { return master.count("connections_open") == 1; }));
    EXPECT_TRUE(eventually(
        [&] { return !get(master.port(), "/agents").body.contains(R"("in_flight":1)"); }));
  }
};

TEST_F(Fuzzed, SurvivesMutatedRequests) {
  const std::string one =
      R"({"table":"one","query":{"match":{"title":"a"}},"sort":[{"price":"desc"}],"limit":5})";
  const std::string two =
      R"({"table":"two","query":{"bool":{"must":[{"match":{"title":"a"}}]}},"limit":3,"offset":1,)"
      R"("sort":["price",{"_score":"asc"}],"_source":["title"],"aggs":{"g":{"terms":{"field":)"
      R"("price","size":5}}},"options":{"retry_count":1},"max_matches":100})";
  const std::array<std::string, 10> seeds{
      posted("/search", one),
      posted("/search", two),
      posted("/json/search?x=y", two, "X-Timeout-Ms: 100\r\nX-Partial-Results: allow\r\n"),
      "POST /search HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" +
          fmt::format("{:x};e=\"1\"\r\n{}\r\n0\r\nT: u\r\n\r\n", two.size(), two),
      posted("/sql", "query=SELECT+title+FROM+one+WHERE+price%3E1+ORDER+BY+id+ASC+LIMIT+5"),
      posted("/sql?mode=raw", "SHOW AGENT STATUS LIKE 'ag_0%'"),
      posted("/cli_json", "DESC two"),
      "GET /web/a/b?c=d HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nConnection: x, keep-alive\r\nX: "
      "y\r\n\r\n",
      posted("/web/x", "some body", "Expect: 100-continue\r\n"),
      "HEAD /agents HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + posted("/search", one),
  };
  Random random{20'240'601};
  std::map<int, int> statuses;
  for (int i = 0; i < 3000; ++i) {
    HttpClient client(master.port());
    ASSERT_TRUE(client.connected()) << i << master.process().output();
    const auto& seed = seeds[below(random, seeds.size())];
    client.send(mutated(seed, random));
    client.finish();  // else most of the time goes by waiting for what will not come
    if (const auto answer = client.receive(seed.starts_with("HEAD"), 10s)) {
      ASSERT_TRUE(answer->status >= 100 && answer->status <= 599) << i;
      ++statuses[answer->status];
    }
  }
  EXPECT_GT(statuses[400], 300);  // or it would not test much
  expect_well();
}

/// Every mark of a request in `text`, one per line.
std::set<std::string> marks_in(std::string_view text) {
  std::set<std::string> marks;
  for (auto at = text.find(kMark); at != text.npos; at = text.find(kMark, at + 1))
    marks.emplace(text.substr(at, kMark.size() + 12));
  return marks;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

/// The mirrors keep their connections, whatever they sent. Each request has a mark, which its
/// answer carries: no answer reaches another client.
TEST_F(Fuzzed, SurvivesMutatedReplies) {
  const auto chunked = fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
      "{:x}\r\n{}\r\n0\r\nA: b\r\n\r\n",
      kReply.size(), kReply);
  const std::array<std::string, 4> seeds{
      json(kReply).bytes, chunked,
      json(R"({"error":{"type":"t","reason":"syntax error"}})", 500).bytes,
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"
      "Content-Type: application/json\r\n\r\n" +
          kReply};
  Random random{20'240'602};
  const auto react =
      [&](const std::string& request) {  // of two mirrors: each calls it from its threads
        static std::mutex mutex;
        const std::scoped_lock lock(mutex);
        auto reply = mutated(seeds[below(random, seeds.size())], random);
        // The body alone as well, so that it gets through to the merge.
        if (random() % 2 == 0) reply = json(mutated(kReply, random)).bytes;
        const auto marks = marks_in(request);
        if (!marks.empty()) reply = replaced(reply, kOwnMark, *marks.begin());
        return Reaction{reply, Reaction::Then::linger};
      };
  a.react(react);
  b.react(react);
  std::optional<HttpClient> client(master.port());
  std::map<int, int> statuses;
  const std::array<std::string, 4> requests{
      posted("/search", R"({"table":"one","query":"mark-000000000000"})"),
      posted("/search", R"({"table":"two","limit":5,"query":"mark-000000000000"})"),
      posted("/search", R"({"table":"two","query":"mark-000000000000",)"
                        R"("aggs":{"g":{"terms":{"field":"x"}}},"sort":["price"]})"),
      "GET /web/mark-000000000000 HTTP/1.1\r\nHost: h\r\n\r\n"};
  std::set<std::string> sent;
  Random numbers{20'261'122};  // the other one is the mirrors' own
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto mark = fmt::format("{}{:012x}", kMark, numbers() >> 16);
    sent.insert(mark);
    ASSERT_TRUE(client->send(replaced(requests[i % 4], kOwnMark, mark)))
        << i << master.process().output();
    const auto answer = client->receive(false, 10s);
    ASSERT_TRUE(answer) << i << " " << master.process().output();
    ++statuses[answer->status];
    for (const auto& found : marks_in(answer->body))
      EXPECT_TRUE(found == mark || !sent.contains(found)) << i << " " << answer->body;
  }
  EXPECT_GT(statuses[200], 200);
  EXPECT_GT(statuses[502] + statuses[500], 10);
  a.react([](const std::string&) { return json(kReply); });
  b.react([](const std::string&) { return json(kReply); });
  client.reset();
  expect_well();
}

}  // namespace
}  // namespace karmad::test
