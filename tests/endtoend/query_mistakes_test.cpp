// An error that all mirrors give for a query does not count against the mirrors, whatever its text
// is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "tests/support/fake_set.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kBad = R"({"table":"t","query":{"match":{"*":"bad"}}})";
constexpr std::string_view kStrange = R"({"error":"the widget of this query cannot be turned"})";

/// Refuses a query for `bad` with an error, and answers any other.
FakeMirror::React refusing(const Reaction& error) {
  return [error](const std::string& request) {
    return request.contains(R"("bad")") ? error : nothing_found();
  };
}

std::string calm(const std::string& more = {}) {
  return "workers = 2\n ha_ping_interval = 0\n agent_connect_timeout = 20s\n "
         "agent_query_timeout = 20s\n request_timeout = 1m\n " +
         more;
}

/// Shows karmad that the mirrors answer other queries: until then an error is theirs.
void answer_some(const RestingMaster& master) {
  for (int i = 0; i < 24; ++i) ASSERT_EQ(master.find().status, 200);
}

void expect_healthy(const RestingMaster& master, std::size_t mirrors) {
  for (std::size_t i = 0; i < mirrors; ++i) {
    EXPECT_EQ(master.number_of(i, "errors_in_a_row"), 0) << i;
    EXPECT_EQ(master.number_of(i, "periods/1/wrong_replies"), 0) << i;
  }
}

TEST(QueryMistakes, OfSixClientsLeaveAllMirrorsHealthyAtTwoAttemptsEach) {
  FakeSet set(3);
  for (std::size_t i = 0; i < 3; ++i) set[i].react(refusing(json(kStrange, 500)));
  RestingMaster master(calm("ha_strategy = nodeads\n breaker = 1"), set.table());
  answer_some(master);
  const auto before = master.count("queries");
  Load load(master.port(), 6, [](HttpClient& client, std::size_t) -> std::string {
    const auto answer = client.request("POST", "/search", kBad);
    if (!answer) return "no answer";
    return answer->status == 500 && answer->body == kStrange
               ? std::string()
               : fmt::format("{} {}", answer->status, answer->body);
  });
  ASSERT_TRUE(load.more(600));
  load.stop();
  EXPECT_EQ(load.wrong(), "");
  const auto queries = master.count("queries") - before;
  // The first queries go to the third mirror as well, because nothing is known of the others yet.
  EXPECT_LE(master.count("agent_attempts"), before + 2 * queries + 6 * 3);
  EXPECT_EQ(master.count("mistakes_agreed"), queries);
  EXPECT_EQ(master.count("client_mistakes"), queries);
  EXPECT_EQ(master.count("queries_failed"), 0);
  EXPECT_EQ(master.count("retries_refused"), 0);
  expect_healthy(master, 3);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(master.find().status, 200);
  // The log has the text of this error once.
  ASSERT_TRUE(master.process().wait_for("mirrors gave the same error for a query"));
  EXPECT_TRUE(master.process().output().contains("the widget of this query cannot be turned"));
}

TEST(QueryMistakes, AreTheSameWhereMirrorsNameTheirOwnTableAndAddress) {
  FakeMirror a(always(nothing_found()));
  FakeMirror b(always(nothing_found()));
  const auto error = [](const FakeMirror& mirror, std::string_view table) {
    return refusing(json(fmt::format(R"({{"error":"table {}: agent {}: the widget is stuck"}})",
                                     table, mirror.address()),
                         500));
  };
  a.react(error(a, "first"));
  b.react(error(b, "second"));
  RestingMaster master(calm(),
                       table_of({fmt::format("{}:first|{}:second", a.address(), b.address())}));
  answer_some(master);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(master.search(kBad).status, 500);
  EXPECT_EQ(master.count("mistakes_agreed"), 5);
  expect_healthy(master, 2);
}

// Servers may cut the text of an error within a character.
TEST(QueryMistakes, AreKnownInATextWithHalfACharacter) {
  FakeSet set(2);
  for (std::size_t i = 0; i < 2; ++i)
    set[i].react(always(json("{\"error\":\"P01: syntax error near '\xC3\"}", 500)));
  RestingMaster master(
      calm(),
      fmt::format("table t {{\n type = distributed\n updates = any\n agent = {0}:t|{1}:t\n}}\n"
                  "table s {{\n type = distributed\n agent = {0}:t\n agent = {1}:t\n}}\n",
                  set[0].address(), set[1].address()));
  const std::string clean = "{\"error\":\"P01: syntax error near '\xEF\xBF\xBD\"}";
  for (const std::string table : {"t", "s"}) {
    const auto search = master.search(fmt::format(R"({{"table":"{}"}})", table));
    EXPECT_EQ(search.status, 500);
    EXPECT_EQ(search.body, clean);
    for (const auto* statement : {"select a from {}", "update {} set a=1 where id=1"}) {
      const auto answer =
          post(master.port(), "/sql?mode=raw", fmt::format(fmt::runtime(statement), table));
      EXPECT_EQ(answer.status, 500) << statement;
      EXPECT_EQ(answer.body, clean) << statement;
    }
  }
  EXPECT_EQ(master.count("client_mistakes"), 6);
  expect_healthy(master, 2);
}

TEST(QueryMistakes, AreNotSeenWhereMirrorsSayDifferentThings) {
  FakeSet set(2);
  set[0].react(refusing(json(R"({"error":"disk 7 is on fire"})", 500)));
  set[1].react(refusing(json(R"({"error":"disk 8 is on fire"})", 500)));
  RestingMaster master(calm(), set.table());
  EXPECT_EQ(master.search(kBad).status, 502);
  EXPECT_EQ(master.count("mistakes_agreed"), 0);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(master.number_of(i, "errors_in_a_row"), 1);
}

TEST(QueryMistakes, AreNotSeenWhereAnotherMirrorAnswers) {
  FakeSet set(2);
  set[0].react(always(json(kStrange, 500)));
  RestingMaster master(calm("ha_strategy = roundrobin"), set.table());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(master.count("mistakes_agreed"), 0);
  EXPECT_GE(master.number_of(0, "errors_in_a_row"), 1);
  EXPECT_EQ(master.number_of(1, "errors_in_a_row"), 0);
}

// Two mirrors with the same defect prove no mistake while a third one may answer.
TEST(QueryMistakes, AreNotSeenWhereTwoMirrorsHaveTheSameDefectAndTheThirdWorks) {
  for (const bool from_the_start : {true, false}) {
    FakeSet set(3);
    const auto breaks = [&] {
      for (std::size_t i = 0; i < 2; ++i) set[i].react(always(json(kStrange, 500)));
    };
    if (from_the_start) breaks();
    RestingMaster master(calm(), set.table());
    Load load(master.port(), 16, [](HttpClient& client, std::size_t) -> std::string {
      const auto answer = client.request("POST", "/search", R"({"table":"t"})");
      if (!answer) return "no answer";
      return answer->status == 200 ? std::string() : fmt::format("{}", answer->status);
    });
    ASSERT_TRUE(load.more(300));
    breaks();
    ASSERT_TRUE(load.more(600));
    load.stop();
    EXPECT_EQ(load.wrong(), "") << from_the_start;
    EXPECT_EQ(master.count("mistakes_agreed"), 0) << from_the_start;
  }
}

// Known errors of a mirror stay errors, also if all mirrors give them.
TEST(QueryMistakes, AreNotKnownErrorsOfAllMirrors) {
  FakeSet set(2, json(R"({"error":"query: out of memory"})", 500));
  RestingMaster master(calm(), set.table());
  EXPECT_EQ(master.find().status, 502);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(master.number_of(i, "errors_in_a_row"), 1);
}

TEST(QueryMistakes, AreToldInAFewKilobytes) {
  const auto text = "P01: syntax error, unexpected '" + std::string(900'000, 'x') + "'";
  FakeSet set(2, json(R"({"error":")" + text + "\"}", 500));
  RestingMaster master(calm(), set.table());
  const auto told = master.find();
  EXPECT_EQ(told.status, 500);
  EXPECT_LT(told.body.size(), 9000u);
  EXPECT_EQ(at(told.body, "/error"), text.substr(0, 8 << 10));
}

// Error phrases inside the text of the query are not errors of a mirror, in any encoding.
TEST(QueryMistakes, MayContainTheTextOfAnAgentsError) {
  FakeSet set(2, json(R"({"error":"unknown option 'out of memory'"})", 500));
  RestingMaster master(calm(), set.table());
  for (const auto* option : {R"("out of memory":1)", R"("out\u0020of memory":1)"}) {
    const auto body = fmt::format(R"({{"table":"t","options":{{{}}}}})", option);
    EXPECT_EQ(master.search(body).status, 500) << option;
  }
  EXPECT_EQ(master.count("agent_attempts"), 2);
  expect_healthy(master, 2);
}

TEST(QueryMistakes, OfPhrasesThatAreKnownNeedOneAttempt) {
  for (const auto* error :
       {"order by MVA is undefined", "can not aggregate non-scalar attribute 'x'",
        "ambiguous attribute type 'x', use INTEGER(), BIGINT() or DOUBLE() to specify",
        "alias 'x' must be unique (conflicts with another alias)", "RE2: error parsing '('",
        "requested KNN search attribute 'x' not found",
        "KNN index 'x' requires a vector of 4 entries; 3 entries specified"}) {
    FakeSet set(2, json(fmt::format(R"({{"error":"{}"}})", error), 500));
    RestingMaster master(calm(), set.table());
    EXPECT_EQ(master.find().status, 500) << error;
    EXPECT_EQ(master.count("agent_attempts"), 1) << error;
    expect_healthy(master, 2);
  }
}

// The second mirror is gone, but both said the same before.
TEST(QueryMistakes, AreRememberedWhenOneMirrorIsLeft) {
  FakeSet set(2);
  for (std::size_t i = 0; i < 2; ++i) set[i].react(refusing(json(kStrange, 500)));
  RestingMaster master(calm("ha_strategy = roundrobin"), set.table());
  answer_some(master);
  EXPECT_EQ(master.search(kBad).status, 500);
  set[1].react(always({"", Reaction::Then::reset}));
  // The query that finds out that it is gone fails.
  int failed = 0;
  for (int i = 0; i < 20; ++i) failed += master.search(kBad).status == 500 ? 0 : 1;
  EXPECT_LE(failed, 1);
  EXPECT_EQ(master.number_of(0, "errors_in_a_row"), 0);
  EXPECT_GE(master.number_of(1, "errors_in_a_row"), 1);
}

// With a single mirror the cause of its error is unknown.
TEST(QueryMistakes, AreNotKnownFromOneMirrorAlone) {
  FakeSet set(1);
  set[0].react(refusing(json(kStrange, 500)));
  RestingMaster master(calm("agent_retry_delay = 1ms"), set.table());
  const auto answer = master.search(kBad);
  EXPECT_EQ(answer.status, 502);
  EXPECT_TRUE(answer.body.contains("the widget of this query cannot be turned")) << answer.body;
  EXPECT_GE(master.number_of(0, "errors_in_a_row"), 1);
}

TEST(QueryMistakes, AreSeenWhereEachShardHasOneMirrorAndNoShardAnswers) {
  FakeMirror a(refusing(json(kStrange, 500)));
  FakeMirror b(refusing(json(kStrange, 500)));
  RestingMaster master(calm("agent_retry_count = 0"),
                       table_of({a.address() + ":products", b.address() + ":products"}));
  answer_some(master);
  const auto answer = master.search(kBad);
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, kStrange);
  EXPECT_EQ(master.count("mistakes_agreed"), 1);
  expect_healthy(master, 1);
  // Where another shard answers, the query is good.
  b.react(always(nothing_found()));
  EXPECT_EQ(master.search(kBad).status, 200);
  EXPECT_EQ(master.number_of(0, "errors_in_a_row"), 1);
}

// A.4: a status of 500 and above is the server's, also if all mirrors say the same.
TEST(QueryMistakes, AreNotSeenInTheErrorsOfAnUnknownServer) {
  for (const int status : {500, 501, 503, 599}) {
    FakeSet set(2);
    const auto error = json(R"({"error":{"type":"null_pointer_exception"}})", status);
    for (std::size_t i = 0; i < 2; ++i)
      set[i].react([error](const std::string& request) {
        return request.contains(R"({"bad":1})") ? error : nothing_found();
      });
    RestingMaster master(calm(), set.table("dialect = http\n route = /x\n reads = /x/*"));
    for (int i = 0; i < 24; ++i)
      ASSERT_EQ(post(master.port(), "/x/_search", "{}").status, 200) << status;
    EXPECT_EQ(post(master.port(), "/x/_search", R"({"bad":1})").status, status);
    EXPECT_EQ(master.count("client_mistakes"), 0) << status;
    EXPECT_EQ(master.count("queries_failed"), 1) << status;
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_EQ(master.number_of(i, "errors_in_a_row"), 1) << status;
  }
}

TEST(QueryMistakes, OfStatementsAreSeenToo) {
  FakeSet set(2);
  RestingMaster master(calm(), set.table());
  answer_some(master);
  set.react(json(R"([{"total":0,"error":"the widget cannot be turned","warning":""}])"));
  EXPECT_EQ(post(master.port(), "/sql?mode=raw", "query=SELECT+*+FROM+t").status, 200);
  EXPECT_EQ(master.count("mistakes_agreed"), 1);
  expect_healthy(master, 2);
}

// Servers answer these with 500 in columns and rows.
TEST(QueryMistakes, ThatKarmadFindsItselfAreNoDefectsOfIt) {
  FakeSet set(2);
  RestingMaster master(calm(), table_of({set[0].address() + ":t", set[1].address() + ":t"}));
  constexpr std::string_view kWrongDirection = "SELECT id FROM t ORDER BY rating downwards";
  constexpr std::string_view kTooFar = "SELECT id FROM t LIMIT 3000,7";
  for (const auto statement : {kWrongDirection, kTooFar})
    EXPECT_EQ(post(master.port(), "/cli_json", statement).status, 500) << statement;
  EXPECT_EQ(master.count("bad_requests"), 2);
  EXPECT_EQ(master.count("queries"), 0);
  EXPECT_EQ(master.count("internal_errors"), 0);
  EXPECT_FALSE(master.process().output().contains("downwards")) << master.process().output();
}

// A.4: whatever the text is, and whether it names something of the query or not.
TEST(TroubleOfTheSet, IsNotTheQueriesWhateverItsText) {
  for (const auto* text :
       {"disk full", "no space left on device", "table is locked", "row %d of 'q%d' is lost", "",
        "block %d at offset %d cannot be read", "die Festplatte ist voll"})
    for (const bool worked : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", text, worked));
      FakeSet set(3);
      std::atomic<bool> fails{!worked};
      for (std::size_t i = 0; i < 3; ++i)
        set[i].react([&fails, text = std::string(text)](const std::string& request) {
          if (!fails) return nothing_found();
          std::string said = text;
          const auto number = std::to_string(std::hash<std::string>()(request) % 10'000);
          for (std::size_t at = 0; (at = said.find("%d")) != said.npos;)
            said.replace(at, 2, number);
          return json(fmt::format(R"({{"error":"{}"}})", said), 500);
        });
      RestingMaster master(calm(), set.table());
      if (worked) answer_some(master);
      fails = true;
      const auto queries = master.count("queries");
      const auto attempts = master.count("agent_attempts");
      for (int i = 0; i < 100; ++i)
        EXPECT_GE(
            master.search(fmt::format(R"({{"table":"t","query":{{"match":{{"*":"w{}"}}}}}})", i))
                .status,
            500);
      EXPECT_EQ(master.count("queries"), queries + 100);
      // 1.2 attempts per query and ten, and the first eight texts that may be the queries'.
      EXPECT_LE(master.count("agent_attempts") - attempts, 120 + 10 + (worked ? 8 * 3 : 0));
      EXPECT_GE(master.count("queries_failed"), worked ? 92 : 100);
      EXPECT_GT(master.number_of(0, "errors_in_a_row"), 10);
      EXPECT_EQ(get(master.port(), "/readyz").status, 503);
    }
}

// Half of what two of three mirrors get fails at random: nothing of that is the clients' mistake.
TEST(TroubleOfTheSet, AtRandomIsNeverTheClients) {
  for (const auto* text : {"disk full", "row 17 is lost"}) {
    FakeSet set(3);
    for (std::size_t i = 0; i < 2; ++i)
      set[i].react([text, turn = std::make_shared<std::atomic<unsigned>>(i)](const std::string&) {
        return (*turn)++ * 7 % 10 < 5 ? json(fmt::format(R"({{"error":"{}"}})", text), 500)
                                      : nothing_found();
      });
    RestingMaster master(calm(), set.table());
    int lost = 0;
    for (int i = 0; i < 300; ++i)
      lost += master.search(fmt::format(R"({{"table":"t","query":{{"match":{{"*":"w{}"}}}}}})", i))
                  .status != 200;
    EXPECT_EQ(lost, 0) << text;
    EXPECT_EQ(master.count("client_mistakes"), 0) << text;
  }
}

// A stopping mirror answers 400 to new requests.
TEST(StoppingMirror, HasErrorsAndItsSearchesGoToOtherMirrors) {
  FakeSet set(2);
  set[0].react(
      always(json(R"({"error":"failed to receive HTTP request: interrupted, got SIGTERM"})", 400)));
  RestingMaster master(calm("ha_strategy = roundrobin"), set.table());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(master.count("client_mistakes"), 0);
  EXPECT_GE(set[0].requests(), 1u);
}

}  // namespace
}  // namespace karmad::test
