// Long replies, long requests and slow readers delay their own query only.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

constexpr std::size_t kHits = 12'000;
constexpr std::size_t kBuckets = 20'000;

/// What a shard answers to a search for many hits: 3 MB. Ids are distinct between shards.
std::string many_hits(unsigned shard) {
  std::string body = fmt::format(
      R"({{"took":1,"timed_out":false,"hits":{{"total":{},"total_relation":"eq","hits":[)", kHits);
  for (std::size_t i = 0; i < kHits; ++i)
    fmt::format_to(std::back_inserter(body),
                   R"({}{{"_id":{},"_score":{},"_source":{{"title":"{:x<230}"}}}})",
                   i == 0 ? "" : ",", 2 * i + shard, 2 * (kHits - i) + shard, i);
  return body + "]}}";
}

/// What a shard answers to a terms aggregation: 8 MB that take long to merge.
std::string many_buckets() {
  std::string body =
      R"({"took":1,"timed_out":false,"hits":{"total":9,"total_relation":"eq","hits":[]},)"
      R"("aggregations":{"a":{"buckets":[)";
  for (std::size_t i = 0; i < kBuckets; ++i)
    fmt::format_to(std::back_inserter(body), R"({}{{"key":"{:08}{:x<400}","doc_count":{}}})",
                   i == 0 ? "" : ",", i * 7919 % kBuckets, "", i + 1);
  return body + "]}}}";
}

const std::string kManyHits =
    fmt::format(R"({{"table":"t","limit":{0},"max_matches":{0}}})", 2 * kHits);
const std::string kManyBuckets = fmt::format(
    R"({{"table":"t","limit":0,"max_matches":60000,"aggs":{{"a":{{"terms":{{"field":"f","size":{}}}}}}}}})",
    kBuckets);

class LongWork : public testing::Test {
 protected:
  static Reaction of_shard(const std::string& request, unsigned shard) {
    static const std::string hits[] = {many_hits(0), many_hits(1)};
    static const std::string buckets = many_buckets();
    return json(request.find("\"aggs\"") != request.npos ? buckets : hits[shard]);
  }
  std::string tables() const {
    return fmt::format(
        "table t {{\n type = distributed\n agent = {}:t\n agent = {}:t\n}}\n"
        "table s {{\n type = distributed\n agent = {}:s\n}}\n",
        one.address(), other.address(), small.address());
  }
  static std::string request_of(const std::string& query) {
    return fmt::format("POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}",
                       query.size(), query);
  }
  static std::string whole(const std::optional<Response>& answer) {
    if (!answer) return "no whole answer";
    if (answer->status != 200) return fmt::format("{}: {}", answer->status, answer->body);
    if (answer->body.size() < 1'000'000 || !answer->body.ends_with('}'))
      return fmt::format("{} bytes", answer->body.size());
    return {};
  }

  FakeMirror one{[](const std::string& request) { return of_shard(request, 0); }};
  FakeMirror other{[](const std::string& request) { return of_shard(request, 1); }};
  FakeMirror small{[](const std::string&) { return nothing_found(); }};
  const std::string kSearchd =
      "workers = 1\n ha_ping_interval = 0\n agent_connect_timeout = 1m\n agent_query_timeout = "
      "1m\n "
      "request_timeout = 5m";
};

TEST_F(LongWork, LetsOtherRequestsBeAnsweredMeanwhile) {
  Master master(kSearchd, tables());
  Load merging(master.port(), 2, [](HttpClient& client, std::size_t) {
    return whole(client.request("POST", "/search", kManyHits));
  });
  // Asked of the only worker, which would otherwise be at that merge.
  int healthy = 0;
  int found = 0;
  const bool enough = eventually([&] {
    if (master.count("long_work_running") == 0) return false;
    healthy += get(master.port(), "/healthz").status == 200 ? 1 : 0;
    found += master.search(R"({"table":"s"})").status == 200 ? 1 : 0;
    return healthy >= 5 && found >= 5;
  });
  EXPECT_TRUE(enough) << healthy << " " << found;
  EXPECT_TRUE(merging.more(2));
  merging.stop();
  EXPECT_EQ(merging.wrong(), "");
  EXPECT_GE(master.count("long_work"), 4);
  EXPECT_FALSE(master.status("loop_longest_delay_ms").empty());
}

// The time that the client has for its answer begins with the answer.
TEST_F(LongWork, TakesNothingFromTheTimeOfTheClient) {
  Master master(kSearchd + "\n network_timeout = 1s", tables());
  for (const auto& query : {kManyBuckets, kManyHits}) {
    // It does not take everything at once, and the clock ticks before it takes the rest.
    HttpClient client(master.port(), 32 << 10);
    ASSERT_TRUE(client.send(request_of(query)));
    const auto head = client.receive(/*to_head=*/true);
    ASSERT_TRUE(head);
    EXPECT_EQ(get(master.port(), "/healthz").status, 200);
    EXPECT_EQ(get(master.port(), "/healthz").status, 200);
    const auto size = std::stoul(head->fields.at("content-length"));
    EXPECT_GT(size, 5'000'000U);
    EXPECT_TRUE(client.has(size));
  }
  EXPECT_EQ(master.count("slow_clients"), 0);
}

TEST_F(LongWork, IsResetWhereTheClientDoesNotTakeItsResult) {
  Master master(kSearchd + "\n network_timeout = 500ms", tables());
  HttpClient client(master.port(), 4096);
  ASSERT_TRUE(client.send(request_of(kManyHits)));
  ASSERT_TRUE(eventually([&] { return master.count("slow_clients") == 1; }));
  const auto got = client.rest();
  EXPECT_LT(got.size(), 4'000'000U);
  EXPECT_TRUE(client.was_reset());
}

TEST_F(LongWork, GoesOnWithoutAClientThatLeft) {
  Master master(kSearchd, tables());
  // On a busy machine the work may end before the client has left.
  for (int round = 0; round < 50 && master.count("clients_left") < 3; ++round) {
    {
      const auto before = master.count("long_work");
      HttpClient client(master.port());
      ASSERT_TRUE(client.send(request_of(kManyHits)));
      ASSERT_TRUE(eventually([&] {
        return master.count("long_work_running") > 0 || master.count("long_work") > before;
      }));
      client.reset();
    }
    ASSERT_TRUE(eventually([&] {
      return master.count("long_work_running") == 0 && master.count("connections_open") == 1;
    }));
  }
  EXPECT_EQ(master.count("clients_left"), 3);
  HttpClient client(master.port());
  EXPECT_EQ(whole(client.request("POST", "/search", kManyHits)), "");
}

TEST_F(LongWork, IsRefusedWhereTooMuchWaits) {
  Master master(kSearchd + "\n long_work_threads = 1\n long_work_queue = 1", tables());
  std::atomic<int> refused{0};
  Load merging(master.port(), 6, [&](HttpClient& client, std::size_t) -> std::string {
    const auto answer = client.request("POST", "/search", kManyHits);
    if (!answer || answer->status != 429) return whole(answer);
    ++refused;
    return answer->fields.contains("retry-after") ? "" : "no Retry-After";
  });
  EXPECT_TRUE(eventually([&] { return refused > 0; }));
  EXPECT_TRUE(merging.more(6));
  merging.stop();
  EXPECT_EQ(merging.wrong(), "");
  EXPECT_GT(master.count("long_work_refused"), 0);
}

/// A `_bulk` below `long_work_size` whose answer is ten times as long.
std::string bulk_of_short_lines() {
  std::string body;
  for (int i = 0; i < 10'000; ++i) body += "{\"index\":{}}\n{}\n";
  return body;
}

std::string table_of_updates(const FakeMirror& a, const FakeMirror& b) {
  return fmt::format(
      "table u {{\n type = distributed\n shard_by = id\n agent = {}:u\n agent = {}:u\n}}\n",
      a.address(), b.address());
}

/// A mirror's answer to a bulk.
Reaction bulk_is_done() {
  return json(R"({"items":[],"current_line":1,"skipped_lines":0,"errors":false,"error":""})");
}

TEST_F(LongWork, IsMakingALongAnswerToABulkWithShortReplies) {
  FakeMirror a([](const std::string&) { return bulk_is_done(); });
  FakeMirror b([](const std::string&) { return bulk_is_done(); });
  Master master(kSearchd, table_of_updates(a, b));
  const auto answer = post(master.port(), "/u/_bulk", bulk_of_short_lines());
  EXPECT_EQ(answer.status, 200) << answer.body.substr(0, 200);
  EXPECT_GT(answer.body.size(), 1'000'000U);
  EXPECT_EQ(master.count("long_work"), 1);  // the merge
}

TEST_F(LongWork, OfAChangeThatIsDoneIsNotRefusedAsIfItCouldBeRepeated) {
  FakeMirror a([](const std::string&) { return bulk_is_done(); });
  FakeMirror b([](const std::string&) { return bulk_is_done(); });
  Master master(kSearchd + "\n long_work_threads = 1\n long_work_queue = 1",
                tables() + table_of_updates(a, b));
  Load merging(master.port(), 6, [&](HttpClient& client, std::size_t) -> std::string {
    const auto answer = client.request("POST", "/search", kManyHits);
    return !answer || answer->status != 429 ? whole(answer) : std::string();
  });
  const auto bulk = bulk_of_short_lines();
  std::atomic<int> in_doubt{0};
  Load changing(master.port(), 4, [&](HttpClient& client, std::size_t) -> std::string {
    const auto answer = client.request("POST", "/u/_bulk", bulk);
    if (answer && answer->status == 200) return {};
    ++in_doubt;
    const bool told = answer && answer->status == 504 && !answer->fields.contains("retry-after") &&
                      answer->body.contains("the request may have taken effect");
    return told ? std::string() : whole(answer);
  });
  EXPECT_TRUE(eventually([&] { return in_doubt > 0; }));
  changing.stop();
  EXPECT_EQ(changing.wrong(), "");
  merging.stop();
  EXPECT_EQ(merging.wrong(), "");
}

TEST_F(LongWork, IsUnderstandingALongRequest) {
  Master master(kSearchd, tables());
  EXPECT_EQ(master.search(R"({"table":"s"})").status, 200);
  EXPECT_EQ(master.count("long_work"), 0);  // a small one is understood where it is read
  const std::string filler(2'000'000, 'x');
  EXPECT_EQ(
      master.search(R"({"table":"s","query":{"match":{"title":")" + filler + R"("}}})").status,
      200);
  EXPECT_EQ(master.count("long_work"), 1);
  EXPECT_EQ(small.seen().back().size() > filler.size(), true);
  EXPECT_EQ(master.search(R"({"table":")" + filler).status, 400);
  EXPECT_EQ(post(master.port(), "/sql", "SELECT '" + filler + "' FROM s").status, 200);
  EXPECT_EQ(post(master.port(), "/sql", "DROP '" + filler + "' FROM s").status, 400);
  EXPECT_NE(post(master.port(), "/sql", "SHOW STATUS LIKE 'long_work'" + std::string(300'000, ' '))
                .body.find("long_work"),
            std::string::npos);
  // Over several shards it is planned as well.
  const auto before = master.count("long_work");
  EXPECT_EQ(
      whole(
          HttpClient(master.port())
              .request(
                  "POST", "/search",
                  fmt::format(
                      R"({{"table":"t","limit":{0},"max_matches":{0},"query":{{"match":{{"x":"{1}"}}}}}})",
                      2 * kHits, filler))),
      "");
  EXPECT_EQ(master.count("long_work") - before, 5);  // parse, plan, two checks, merge
}

}  // namespace
}  // namespace karmad::test
