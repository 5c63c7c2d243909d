// Updates of a table of two shards with two mirrors each reach the shards and mirrors they should.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "tests/support/fake_mirror.hpp"
#include "tests/support/role_set.hpp"

namespace karmad::test {
namespace {

/// A mirror that answers changes in the engine's words and keeps the bodies it got.
class ChangedMirror {
 public:
  std::string address() const { return mirror_->address(); }
  std::vector<std::string> bodies() const {
    std::vector<std::string> all;
    for (const auto& request : mirror_->seen()) {
      const auto end = request.find("\r\n\r\n");
      all.push_back(end == request.npos ? std::string() : request.substr(end + 4));
    }
    return all;
  }
  std::size_t requests() const { return mirror_->requests(); }
  void react(FakeMirror::React react) { mirror_->react(std::move(react)); }
  /// Its address refuses connections from now on.
  void kill() { mirror_.reset(); }

 private:
  static Reaction answer(const std::string& request) {
    const auto is = [&](std::string_view path) { return request.starts_with(path); };
    const bool by_query = request.contains(R"("query")");
    if (is("POST /bulk"))
      return json(
          R"({"items":[{"bulk":{"table":"products","_id":1,"created":1,"deleted":0,"updated":0,)"
          R"("result":"created","status":201}}],"current_line":2,"skipped_lines":0,)"
          R"("errors":false,"error":""})");
    if (is("POST /sql")) return json(R"([{"total":2,"error":"","warning":""}])");
    if (is("POST /update"))
      return json(by_query ? R"({"table":"products","updated":3})"
                           : R"({"table":"products","id":7,"result":"updated"})");
    if (is("POST /delete"))
      return json(by_query ? R"({"table":"products","deleted":3})"
                           : R"({"table":"products","id":7,"found":true,"result":"deleted"})");
    return json(R"({"table":"products","id":7,"created":true,"result":"created","status":201})");
  }

  std::unique_ptr<FakeMirror> mirror_ = std::make_unique<FakeMirror>(answer);
};

class UpdatesOverShards : public testing::Test {
 protected:
  ChangedMirror a1, a2, b1, b2;

  /// Without pings: what is known of a mirror comes from the updates.
  Master started(const std::string& settings) const {
    return Master("ha_ping_interval = 0", table_of({line_of({a1.address(), a2.address()}),
                                                    line_of({b1.address(), b2.address()})},
                                                   settings));
  }
  std::size_t at_shard(int shard) const {
    return shard == 0 ? a1.requests() + a2.requests() : b1.requests() + b2.requests();
  }
  static std::string by_query(const char* more = "") {
    return fmt::format(R"({{"table":"t"{},"query":{{"match_all":{{}}}}}})", more);
  }
};

TEST_F(UpdatesOverShards, ByQueryEveryShardIsChangedOnce) {
  const auto master = started("updates = any");
  const auto answer = post(master.port(), "/update", by_query(R"(,"doc":{"a":1})"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"table":"t","updated":6})");
  EXPECT_EQ(at_shard(0), 1u);
  EXPECT_EQ(at_shard(1), 1u);
  EXPECT_EQ(post(master.port(), "/delete", by_query()).body, R"({"table":"t","deleted":6})");
  EXPECT_EQ(post(master.port(), "/delete", R"({"table":"t","id":7})").body,
            R"({"table":"t","id":7,"found":true,"result":"deleted"})");
  EXPECT_EQ(at_shard(0), 3u);
  EXPECT_EQ(at_shard(1), 3u);
}

TEST_F(UpdatesOverShards, DocumentsGoToTheirShard) {
  const auto no_key = started("updates = any");
  const auto insert = R"({"table":"t","id":7,"doc":{}})";
  const auto refused = post(no_key.port(), "/insert", insert);
  EXPECT_EQ(refused.status, 400);
  EXPECT_TRUE(refused.body.contains("shard_by = id")) << refused.body;
  EXPECT_EQ(at_shard(0) + at_shard(1), 0u);

  const auto master = started("updates = any\n shard_by = id");
  EXPECT_EQ(post(master.port(), "/insert", insert).status, 200);
  EXPECT_EQ(post(master.port(), "/update", insert).body,
            R"({"table":"t","id":7,"result":"updated"})");
  EXPECT_EQ(post(master.port(), "/delete", R"({"table":"t","id":7})").status, 200);
  EXPECT_EQ(std::max(at_shard(0), at_shard(1)), 3u);
  EXPECT_EQ(std::min(at_shard(0), at_shard(1)), 0u);

  std::string bulk;
  for (int id = 1; id <= 20; ++id)
    bulk += fmt::format("{{\"insert\":{{\"table\":\"t\",\"id\":{},\"doc\":{{}}}}}}\n", id);
  const auto answer = post(master.port(), "/bulk", bulk);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(at(answer.body, "/items/0/bulk/created"), "2");  // one of each shard
  EXPECT_EQ(at(answer.body, "/items/0/bulk/_id"), "20");
  EXPECT_EQ(at(answer.body, "/items/0/bulk/table"), "t");
  EXPECT_EQ(at(answer.body, "/current_line"), "21");
  EXPECT_EQ(at_shard(0) + at_shard(1), 5u);
}

TEST_F(UpdatesOverShards, AllMirrorsGetTheUpdateAndOneThatLacksItIsNamed) {
  const auto master = started("updates = all");
  const auto body = by_query(R"(,"doc":{"a":1})");
  EXPECT_EQ(post(master.port(), "/update", body).body, R"({"table":"t","updated":6})");
  for (const auto* mirror : {&a1, &a2, &b1, &b2}) EXPECT_EQ(mirror->requests(), 1u);
  const auto dead = b2.address();
  b2.kill();
  const auto answer = post(master.port(), "/update", body);
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(at(answer.body, "/error/type"), "update_incomplete");
  EXPECT_EQ(at(answer.body, "/error/failed/0/shard"), "2");
  EXPECT_EQ(at(answer.body, "/error/failed/0/mirror"), dead);
  EXPECT_EQ(at(answer.body, "/error/failed/1/shard"), "");
  EXPECT_EQ(at(answer.body, "/error/changed/updated"), "6");
  for (const auto* mirror : {&a1, &a2, &b1}) EXPECT_EQ(mirror->requests(), 2u);
  const auto sql = post(master.port(), "/sql?mode=raw", "UPDATE t SET a=1 WHERE b=2");
  EXPECT_EQ(sql.status, 500);
  EXPECT_EQ(at(sql.body, "/0/total"), "4");
  EXPECT_TRUE(at(sql.body, "/0/error").contains(dead)) << sql.body;
  EXPECT_EQ(master.count("updates_incomplete"), 2);
  EXPECT_EQ(master.count("queries_failed"), 2);
}

TEST_F(UpdatesOverShards, AShardThatRefusesDoesNotStopTheOthers) {
  for (auto* mirror : {&b1, &b2})
    mirror->react([](const auto&) { return json(R"({"error":"unknown column: 'a'"})", 400); });
  for (auto* mirror : {&a1, &a2})
    mirror->react([](const auto&) {
      auto late = json(R"({"table":"products","updated":3})");
      late.after = std::chrono::milliseconds(100);
      return late;
    });
  const auto master = started("updates = any");
  const auto answer = post(master.port(), "/update", by_query(R"(,"doc":{"a":1})"));
  EXPECT_EQ(answer.status, 500) << answer.body;
  EXPECT_EQ(at(answer.body, "/error/failed/0/status"), "400");
  EXPECT_TRUE(at(answer.body, "/error/failed/0/reason").contains("unknown column"));
  EXPECT_EQ(at(answer.body, "/error/changed/updated"), "3");
}

TEST_F(UpdatesOverShards, WithoutAnyAnswerTheStatusIsThatOfASearch) {
  const auto overloaded = [](const auto&) {
    return Reaction{
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n"};
  };
  const auto reset = [](const auto&) { return Reaction{"", Reaction::Then::reset}; };
  const auto silent = [](const auto&) { return silence(); };
  struct Case {
    FakeMirror::React a, b;
    int status;
    bool in_doubt;
  };
  const Case cases[] = {{overloaded, overloaded, 429, false},
                        {silent, overloaded, 504, true},
                        {reset, reset, 502, true},
                        {overloaded, reset, 502, true}};
  const auto master =
      started("updates = all\n shard_by = id\n agent_query_timeout = 3s\n agent_retry_count = 0");
  const auto at_home = [&] {
    return post(master.port(), "/replace", R"({"table":"t","id":7,"doc":{}})");
  };
  for (const auto& one : cases) {
    for (auto* mirror : {&a1, &b1}) mirror->react(one.a);
    for (auto* mirror : {&a2, &b2}) mirror->react(one.b);
    const auto answer = at_home();
    EXPECT_EQ(answer.status, one.status) << answer.body;
    EXPECT_EQ(answer.body.contains("may have taken effect"), one.in_doubt) << answer.body;
    EXPECT_EQ(answer.fields.contains("retry-after"), one.status == 429) << answer.body;
  }
  // One mirror has it: it is not to be repeated as a whole.
  for (auto* mirror : {&a1, &b1})
    mirror->react([](const auto&) {
      return json(R"({"table":"p","id":7,"created":true,"result":"created","status":201})");
    });
  EXPECT_EQ(at(at_home().body, "/error/type"), "update_incomplete");
  for (auto* mirror : {&a1, &a2, &b1, &b2}) mirror->kill();
  const auto dead = at_home();
  EXPECT_EQ(dead.status, 502) << dead.body;
  EXPECT_FALSE(dead.body.contains("may have")) << dead.body;
}

TEST_F(UpdatesOverShards, AnAnswerOfAnotherShapeIsNotTakenForDone) {
  b2.react([](const auto&) { return json(R"({"hits":"plenty","took":[]})"); });
  const auto master = started("updates = all\n shard_by = id");
  const auto answer = post(master.port(), "/update", by_query(R"(,"doc":{"a":1})"));
  EXPECT_EQ(answer.status, 500) << answer.body;
  EXPECT_EQ(at(answer.body, "/error/failed/0/mirror"), b2.address());
  EXPECT_TRUE(at(answer.body, "/error/reason").contains("may have taken effect")) << answer.body;
}

TEST_F(UpdatesOverShards, AFailedPartIsInDoubtIfItsMirrorDidNotTellHowItEnded) {
  const auto master = started("updates = all\n shard_by = id\n agent_query_timeout = 300ms");
  const auto body = by_query(R"(,"doc":{"a":1})");
  const auto reason = [&] {
    return at(post(master.port(), "/update", body).body, "/error/failed/0/reason");
  };
  for (const auto& reaction : {Reaction{"", Reaction::Then::reset}, silence(),
                               json("{\"table\":\"p\",\"upd"), json("{\"items\":[{", 500)}) {
    b2.react([&](const auto&) { return reaction; });
    EXPECT_TRUE(reason().starts_with("may have taken effect: agent " + b2.address())) << reason();
    const auto sql = post(master.port(), "/cli_json", "UPDATE t SET a=1 WHERE b=2");
    EXPECT_TRUE(sql.body.contains("may have taken effect")) << sql.body;
  }
  b2.react([](const auto&) { return json(R"({"error":"unknown column: 'a'"})", 400); });
  EXPECT_FALSE(reason().contains("may have")) << reason();
  b2.kill();
  EXPECT_FALSE(reason().contains("may have")) << reason();
}

/// A mirror that has committed the first line of a bulk and refuses the second one.
Reaction bulk_to_the_second_line(const std::string&) {
  return json(
      R"({"items":[{"update":{"table":"p","_id":1,"result":"updated"}},{"insert":{"error":)"
      R"({"type":"duplicate id","table":"p"},"status":409}}],"current_line":2,"skipped_lines":1,)"
      R"("errors":true,"error":"duplicate id"})",
      500);
}

TEST_F(UpdatesOverShards, ALineOfABulkIsCarriedOutOnlyWhereAllMirrorsSaySo) {
  const auto master = started("updates = all\n shard_by = id\n agent_retry_count = 0");
  std::string bulk;
  std::string elastic;
  for (int id = 1; id <= 20; ++id) {
    bulk += fmt::format(R"({{"update":{{"table":"t","id":{},"doc":{{"a":1}}}}}})"
                        "\n",
                        id);
    elastic += fmt::format(
        "{{\"update\":{{\"_index\":\"t\",\"_id\":{}}}}}\n"
        "{{\"doc\":{{\"a\":1}}}}\n",
        id);
  }
  for (auto* mirror : {&a1, &b1}) mirror->react(bulk_to_the_second_line);
  // The others give an error that could be the client's mistake, or cannot be reached.
  for (const bool dead : {false, true}) {
    for (auto* mirror : {&a2, &b2})
      if (dead)
        mirror->kill();
      else
        mirror->react([](const auto&) { return json(R"({"error":"never seen"})", 500); });
    const auto answer = post(master.port(), "/bulk", bulk);
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(at(answer.body, "/errors"), "true");
    EXPECT_EQ(at(answer.body, "/current_line"), "21") << answer.body;
    EXPECT_EQ(at(answer.body, "/skipped_lines"), "20") << answer.body;
    EXPECT_FALSE(answer.body.contains(R"("result":"updated")")) << answer.body;
    const auto items = post(master.port(), "/_bulk", elastic);
    EXPECT_EQ(items.status, 500);
    EXPECT_EQ(at(items.body, "/items/19/update/_id"), "20") << items.body;
    EXPECT_FALSE(items.body.contains(R"("result":"updated")")) << items.body;
    // The first line of each shard was committed by the mirror that refuses the second one.
    const auto first = at(items.body, "/items/0/update/error/reason");
    EXPECT_FALSE(first.contains("duplicate id")) << first;
    EXPECT_TRUE(at(items.body, "/items/19/update/error/reason").contains("duplicate id"));
  }
}

TEST_F(UpdatesOverShards, SqlChangesGoTheSameWay) {
  const auto master = started("updates = any\n shard_by = id");
  const auto sql = [&](std::string_view statement) {
    return post(master.port(), "/sql?mode=raw", statement);
  };
  EXPECT_EQ(sql("UPDATE t SET a=1 WHERE b=2").body, R"([{"total":4,"error":"","warning":""}])");
  EXPECT_EQ(at_shard(0) + at_shard(1), 2u);
  std::string rows = "INSERT INTO t (id, title) VALUES ";
  for (int id = 1; id <= 20; ++id) rows += fmt::format("{}({},'x')", id == 1 ? "" : ",", id);
  EXPECT_EQ(sql(rows).body, R"([{"total":4,"error":"","warning":""}])");
  EXPECT_EQ(at_shard(0) + at_shard(1), 4u);
  std::size_t sent = 0;
  for (const auto* mirror : {&a1, &a2, &b1, &b2})
    for (const auto& body : mirror->bodies())
      for (auto at = body.find("'x'"); at != body.npos; at = body.find("'x'", at + 1)) ++sent;
  EXPECT_EQ(sent, 20u);
  EXPECT_EQ(sql("DELETE FROM t WHERE id = 3").status, 200);
  EXPECT_EQ(at_shard(0) + at_shard(1), 5u);
  EXPECT_EQ(sql("INSERT INTO t VALUES (1+1,'x')").status, 400);
  // As the engine: only SELECT there.
  for (const auto& answer : {post(master.port(), "/sql", "DELETE FROM t WHERE id = 3"),
                             post(master.port(), "/sql", "DELETE FROM t WHERE a=1; SHOW META"),
                             ask(master.port(), "GET", "/sql?query=DELETE+FROM+t+WHERE+a=1")}) {
    EXPECT_EQ(answer.status, 501);
    EXPECT_TRUE(answer.body.contains("/sql?mode=raw")) << answer.body;
  }
  EXPECT_EQ(at_shard(0) + at_shard(1), 5u);
  const auto preferring_one = ask(master.port(), "POST", "/sql?mode=raw",
                                  "DELETE FROM t WHERE id = 3", preferring("nearest"));
  EXPECT_EQ(preferring_one.status, 400) << preferring_one.body;
}

TEST(IdsInQuotes, BelongToTheShardOfTheirNumber) {
  const DemoAgent a("0/2", "a", 0, 0);
  const DemoAgent b("1/2", "b", 0, 0);
  const Master master(
      "ha_ping_interval = 0",
      table_of({line_of({a.address()}), line_of({b.address()})}, "updates = any\n shard_by = id"));
  const auto sql = [&](std::string_view statement) {
    return post(master.port(), "/sql?mode=raw", statement);
  };
  const auto count = [](int port, std::string_view table) {
    return at(post(port, "/search", fmt::format(R"({{"table":"{}"}})", table)).body, "/hits/total");
  };
  std::string rows;
  std::string same_rows;
  for (int id = 1; id <= 20; ++id) {
    rows += fmt::format("{}('{}','x')", id == 1 ? "" : ",", id);
    same_rows += fmt::format("{}({},'a\\nb')", id == 1 ? "" : ",", id);
  }
  for (const auto& values : {rows, same_rows}) {
    const auto made = sql("REPLACE INTO t (id,seller) VALUES " + values);
    EXPECT_EQ(at(made.body, "/0/total"), "20") << made.body;
    EXPECT_EQ(count(master.port(), "t"), "20");
    EXPECT_NE(count(a.port(), "products"), "0");
    EXPECT_NE(count(b.port(), "products"), "0");
  }
  EXPECT_EQ(at(sql("SELECT seller FROM t WHERE id='13'").body, "/0/data/0/seller"), "a\nb");
  // Engines refuse a text there; they get the number.
  for (const auto* changed :
       {"UPDATE t SET price=1 WHERE id='13'", "DELETE FROM t WHERE id IN ('13', '14')"})
    EXPECT_EQ(sql(changed).status, 200) << changed;
  EXPECT_EQ(at(sql("SELECT price FROM t WHERE id='12'").body, "/0/total"), "1");
  EXPECT_EQ(count(master.port(), "t"), "18");
  EXPECT_EQ(master.count("client_mistakes"), 0);
}

}  // namespace
}  // namespace karmad::test
