// Mirrors that refuse because of overload: which mirror is asked next, when, and how often.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kLabels =
    R"({"error":{"reason":"busy","labels":["SystemOverloadedError","RetryableError"]}})";
constexpr std::string_view kOtherEngine =
    R"({"error":{"type":"es_rejected_execution_exception","reason":"queue full"},"status":503})";

// BP-004, BP-007, CO-020: for every form of a refusal.
TEST(Refused, AnotherMirrorIsAskedHoweverTheRefusalIsWorded) {
  const struct {
    Reaction reaction;
    bool told_when;
  } cases[] = {
      {refused(429, ""), false},
      {refused(500, "", kLabels), false},
      {refused(500, "X-Error-Labels: SystemOverloadedError, RetryableError\r\n"), false},
      {refused(503, "", kOtherEngine), false},
      {refused(500, "", R"({"error":"maxed out, dismissing client"})"), false},
      {refused(429, "Retry-After-Ms: 1\r\n"), true},
      {refused(503, "x-ms-retry-after-ms: 1\r\n"), true},
      {refused(503, "Retry-After-Ms: 1\r\nRetry-After: 3600\r\n"), true},
      {refused(500, "Retry-After-Ms: 1\r\n", kLabels), true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.reaction.bytes);
    FakeSet mirrors(2);
    mirrors[0].react(always(c.reaction));
    const RestingMaster master(taking_turns(), mirrors.table());
    EXPECT_EQ(master.find().status, 200);
    EXPECT_EQ(mirrors[0].requests(), 1u);
    EXPECT_EQ(mirrors[1].requests(), 1u);
    for (std::size_t i = 0; i < 2; ++i)  // BP-032
      EXPECT_TRUE(mirrors[i].seen()[0].contains("\r\nX-Backpressure: 1\r\n"));
    EXPECT_EQ(master.count("overload_retries"), c.told_when ? 0 : 1);
    EXPECT_EQ(master.count("throttled_retries"), c.told_when ? 1 : 0);
    EXPECT_EQ(master.count("agent_retry"), 1);
    EXPECT_EQ(master.count("queries_failed"), 0);
  }
}

TEST(Refused, EveryRequestToAMirrorIsRetried) {  // BP-001, BP-002
  const auto rows = json(
      R"([{"columns":[{"id":{"type":"long long"}}],"data":[],"total":0,"error":"","warning":""}])");
  const auto changed = json(R"([{"total":1,"error":"","warning":""}])");
  const auto bulk =
      json(R"({"items":[],"current_line":1,"skipped_lines":0,"errors":false,"error":""})");
  const auto updated = json(R"({"table":"t","id":1,"updated":1,"result":"updated"})");
  const auto deleted = json(R"({"table":"t","id":1,"found":true,"deleted":1,"result":"deleted"})");
  constexpr std::string_view document = R"({"table":"t","id":1,"doc":{"title":"lamp"}})";
  const struct {
    std::string_view path, body;
    Reaction reaction;
  } cases[] = {
      {"/search", R"({"table":"t"})", nothing_found()},
      {"/json/search", R"({"table":"t"})", nothing_found()},
      {"/t/_search", "{}", nothing_found()},
      {"/sql?mode=raw", "SELECT id FROM t", rows},
      {"/sql?mode=raw", "DELETE FROM t WHERE id = 1", changed},
      {"/insert", document, inserted()},
      {"/replace", document, inserted()},
      {"/update", document, updated},
      {"/delete", R"({"table":"t","id":1})", deleted},
      {"/bulk", "{\"insert\":{\"table\":\"t\",\"id\":1,\"doc\":{}}}\n", bulk},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.path, c.body));
    FakeSet mirrors(2, c.reaction);
    mirrors[0].react(always(refused(429, "")));
    const RestingMaster master(taking_turns(), mirrors.table("updates = any"));
    const auto answer = post(master.port(), c.path, c.body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(mirrors[0].requests(), 1U);
    EXPECT_EQ(mirrors[1].requests(), 1U);
    EXPECT_EQ(master.count("overload_retries"), 1);
  }
}

// BP-013: only one of the two labels; 503 without Retry-After.
TEST(Refused, OverloadWithoutBothLabelsOrADelayIsNotRetried) {
  const struct {
    Reaction reaction;
    std::size_t requests;
    int status;
    std::string labels;  // of the answer to the client
  } cases[] = {
      {refused(503, "X-Error-Labels: SystemOverloadedError\r\n"), 1, 503, "SystemOverloadedError"},
      {refused(500, "Retry-After: 2\r\n", R"({"error":{"labels":["SystemOverloadedError"]}})"), 1,
       503, "SystemOverloadedError"},
      {refused(503, "X-Error-Labels: RetryableError\r\n"), 2, 502, ""},
      {refused(503, ""), 2, 502, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.reaction.bytes);
    FakeSet mirrors(2, c.reaction);
    const RestingMaster master(taking_turns(), mirrors.table());
    const auto answer = master.find();
    EXPECT_EQ(answer.status, c.status);
    EXPECT_EQ(answer.fields.contains("x-error-labels") ? answer.fields.at("x-error-labels") : "",
              c.labels);
    EXPECT_FALSE(answer.fields.contains("retry-after"));
    EXPECT_EQ(mirrors.requests(), c.requests);
    EXPECT_EQ(master.count("overload_retries"), 0);
  }
}

// BP-004, BP-006, max_attempts: each limit by itself, counted by the mirrors.
TEST(Refused, RetriesAreAsManyAsTheSettingsSay) {
  const auto overload = refused(429, "");
  const auto throttle = refused(429, "Retry-After-Ms: 1\r\n");
  const auto trouble = json(R"({"error":"internal error"})", 500);
  const struct {
    Reaction reaction;
    std::string searchd;
    std::string table;
    std::size_t requests;
  } cases[] = {
      {overload, "", "", 6},
      {overload, "overload_max_retries = 0", "", 1},
      {overload, "overload_max_retries = 2", "", 3},
      {overload, "overload_max_retries = 10", "", 11},
      {overload, "overload_max_retries = 10\n max_attempts = 9", "", 9},
      {overload, "max_attempts = 2", "", 2},
      {overload, "max_attempts = 9", "max_attempts = 3", 3},
      {overload, "agent_retry_count = 0", "", 6},
      {overload, "retry_reads = 0", "", 1},
      {overload, "retry_writes = 0", "", 6},
      {throttle, "", "", 10},
      {throttle, "max_attempts = 100", "", 10},
      {throttle, "max_attempts = 6", "", 6},
      {throttle, "throttle_max_retries = 17", "", 18},
      {throttle, "throttle_max_retries = 0", "", 1},
      {throttle, "throttle_max_retries = 2", "", 3},
      {throttle, "throttle_max_wait = 0", "", 3},  // those not asked yet need no waiting
      {throttle, "overload_max_retries = 0", "", 10},
      {throttle, "retry_reads = 0", "", 1},
      {trouble, "agent_retry_count = 10", "", 31},
      {trouble, "", "agent_retry_count = 7", 22},
      {trouble, "agent_retry_count = 50\n max_attempts = 6", "", 6},
      {trouble, "agent_retry_count = 50\n max_attempts = 1", "", 1},
      {trouble, "agent_retry_count = 50\n retry_reads = 0", "", 1},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{}\n{} {}", c.reaction.bytes, c.searchd, c.table));
    FakeSet mirrors(3, c.reaction);
    const RestingMaster master(taking_turns(c.searchd), mirrors.table(c.table));
    EXPECT_EQ(master.find().status, c.reaction.bytes == trouble.bytes ? 502 : 429);
    EXPECT_EQ(mirrors.requests(), c.requests);
    EXPECT_EQ(mirrors.asked(), std::min<std::size_t>(c.requests, 3));
    EXPECT_EQ(master.count("agent_attempts"), static_cast<std::int64_t>(c.requests));
  }
}

// CO-021: the given delay is longer than the total limit for such waits, or than the deadline of
// the client. A wait would exceed the time of the test.
TEST(Refused, ARequestWithATooLongDelayFailsAtOnce) {
  const struct {
    std::string_view after;
    std::string searchd;
    std::string_view fields;
  } cases[] = {
      {"Retry-After: 3600", "", ""},
      {"Retry-After: Fri, 31 Dec 2199 23:59:59 GMT", "", ""},
      {"Retry-After: 0", "", ""},  // nothing said: five seconds
      {"Retry-After-Ms: 3000", "", ""},
      {"Retry-After: 3600", "throttle_max_wait = 1h\n request_timeout = 1d", ""},
      {"Retry-After: 600", "throttle_max_wait = 1h", ""},
      {"Retry-After: 600", "throttle_max_wait = 1h\n request_timeout = 1d",
       "X-Timeout-Ms: 60000\r\n"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {} {}", c.after, c.searchd, c.fields));
    FakeSet mirrors(2, refused(429, fmt::format("{}\r\n", c.after)));
    const RestingMaster master(taking_turns(c.searchd), mirrors.table());
    const auto answer = master.find("", c.fields);
    EXPECT_EQ(answer.status, 429);
    EXPECT_EQ(answer.fields.at("x-error-labels"), "SystemOverloadedError, RetryableError");
    EXPECT_EQ(mirrors.requests(), 2u) << "the other one costs no time";
    EXPECT_EQ(master.count("throttled_retries"), 1);
  }
}

// BP-005. The pause is a random part of an hour: that it is shorter than the deadline happens once
// in sixty, and hardly twice in eight.
TEST(Refused, ARequestWithAPauseBeyondTheDeadlineFailsAtOnce) {
  FakeSet mirrors(2, refused(429, ""));
  const RestingMaster master(
      taking_turns("overload_backoff_base = 1h\n overload_backoff_cap = 1h\n request_timeout = 5s"),
      mirrors.table());
  for (int i = 0; i < 8; ++i) EXPECT_GE(master.find().status, 429);
  EXPECT_LE(mirrors.requests(), 9u);
}

// BP-016: the mirror's own base takes the place of ours, which would be beyond the deadline.
TEST(Refused, TheMirrorMayNameTheBaseOfThePause) {
  FakeSet mirrors(2, refused(429, "",
                             R"({"error":{"reason":"busy","baseBackoffMS":1,)"
                             R"("labels":["SystemOverloadedError","RetryableError"]}})"));
  const RestingMaster master(taking_turns("overload_backoff_base = 1h\n overload_backoff_cap = 1h"),
                             mirrors.table());
  EXPECT_EQ(master.find().status, 429);
  EXPECT_EQ(mirrors.requests(), 6u);
}

// BP-060, CO-045: a failed update may have taken effect. A retry is safe if the mirror refused it,
// if none of it was sent, or if it has an idempotency key.
TEST(RefusedUpdate, IsRepeatedOnlyWhereThatIsSafe) {
  const Reaction reset{"", Reaction::Then::reset};
  const auto trouble = json(R"({"error":"internal error"})", 500);
  const std::string_view key = "Idempotency-Key: 8e03978e\r\n";
  const struct {
    Reaction reaction;
    std::string_view fields;
    std::string searchd;
    bool repeated;
  } cases[] = {
      {reset, "", "", false},
      {trouble, "", "", false},
      {reset, key, "", true},
      {trouble, key, "", true},
      {refused(429, ""), "", "", true},
      {refused(429, "Retry-After-Ms: 1\r\n"), "", "", true},
      {refused(500, "", kLabels), "", "", true},
      {refused(429, ""), "", "retry_writes = 0", false},
      {refused(429, ""), "", "retry_reads = 0", true},
      {trouble, key, "retry_writes = 0", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{}\n{} {}", c.reaction.bytes, c.fields, c.searchd));
    FakeSet mirrors(2, inserted());
    mirrors[0].react(always(c.reaction));
    const RestingMaster master(taking_turns(c.searchd), mirrors.table("updates = any"));
    const auto status = insert(master, c.fields).status;
    EXPECT_TRUE(c.repeated ? status == 200 : status == 502 || status == 429) << status;
    EXPECT_EQ(mirrors[0].requests(), 1u);
    ASSERT_EQ(mirrors[1].requests(), c.repeated ? 1u : 0u);
    if (!c.repeated) continue;
    EXPECT_EQ(mirrors[1].seen()[0].contains(key), !c.fields.empty()) << mirrors[1].seen()[0];
  }
}

TEST(RefusedUpdate, IsRepeatedWhenNothingOfItWasSent) {  // CO-045
  const FakeMirror works(always(inserted()));
  const ClosedPort closed_port;
  const RestingMaster master(
      taking_turns(),
      table_of({line_of({closed_port.address(), works.address()})}, "updates = any"));
  EXPECT_EQ(insert(master).status, 200);
  EXPECT_EQ(works.requests(), 1u);
  EXPECT_EQ(master.count("agent_retry"), 1);
}

// CO-037: at once, and once.
TEST(Refused, AFailedReadAndALostCopyAreRetriedAtAnotherMirrorAlike) {
  for (const auto& reaction :
       {json(R"({"error":"internal error"})", 500), refused(410, "X-Sub-Status: 1022\r\n")}) {
    SCOPED_TRACE(reaction.bytes);
    FakeSet mirrors(3);
    mirrors[0].react(always(reaction));
    const RestingMaster master(taking_turns("overload_backoff_base = 1h"), mirrors.table());
    EXPECT_EQ(master.find().status, 200);
    EXPECT_EQ(mirrors.requests(), 2u);
    EXPECT_EQ(master.count("agent_retry"), 1);
  }
}

// BP-061: only one mirror has the open cursor of a next page. The request is repeated at this
// mirror after a refusal, and not after a failure.
TEST(Refused, ACursorsNextPageIsAskedForAgainButNotAfterAFailure) {
  const struct {
    Reaction reaction;
    std::size_t requests;
  } cases[] = {{refused(429, ""), 2},
               {json(R"({"error":"internal error"})", 500), 1},
               {{"", Reaction::Then::reset}, 1}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.reaction.bytes);
    FakeSet mirrors(2);
    mirrors[0].react([reaction = c.reaction, n = 0](const std::string&) mutable {
      return n++ == 0 ? reaction : nothing_found();
    });
    const RestingMaster master(taking_turns(), mirrors.table("dialect = http\n route = /engine"));
    const auto answer = ask(master.port(), "POST", "/engine/_search/scroll",
                            R"({"scroll":"1m","scroll_id":"DXF1ZXJ5"})");
    EXPECT_EQ(answer.status == 200, c.requests == 2) << answer.body;
    EXPECT_EQ(mirrors[0].requests(), c.requests);
    EXPECT_EQ(mirrors[1].requests(), 0u);
  }
}

// BP-006, BP-010: a POST that matches no pattern of `reads` may be a search or an update: both
// settings must allow its retry.
TEST(Refused, ARequestOfUnknownKindIsRetriedOnlyIfReadsAndWritesAre) {
  const struct {
    std::string_view method;
    std::string_view path;
    std::string searchd;
    std::size_t requests;
  } cases[] = {
      {"POST", "/engine/unknown", "", 2},
      {"POST", "/engine/unknown", "retry_reads = 0", 1},
      {"POST", "/engine/unknown", "retry_writes = 0", 1},
      {"POST", "/engine/search", "retry_reads = 0", 1},
      {"POST", "/engine/search", "retry_writes = 0", 2},
      {"PUT", "/engine/unknown", "retry_reads = 0", 2},
      {"PUT", "/engine/unknown", "retry_writes = 0", 1},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {} {}", c.method, c.path, c.searchd));
    FakeSet mirrors(2);
    mirrors[0].react(always(refused(429, "")));
    const RestingMaster master(
        taking_turns(c.searchd),
        mirrors.table("dialect = http\n updates = any\n route = /engine\n reads = /engine/search"));
    ask(master.port(), std::string(c.method), std::string(c.path), "{}");
    EXPECT_EQ(mirrors.requests(), c.requests);
  }
}

// BP-014: a waiting request has returned its connection.
TEST(Refused, APauseHoldsNoConnection) {
  FakeSet mirrors(1, refused(429, "Retry-After: 60\r\n"));
  const RestingMaster master(
      taking_turns("throttle_max_wait = 1h\n request_timeout = 1h\n agent_max_connections = 1"),
      mirrors.table());
  const Pending waiting = Pending(master, "/search", kFindAll);
  ASSERT_TRUE(
      eventually([&] { return mirrors.requests() == 1 && master.number_of(0, "in_flight") == 0; }));
  mirrors.react(nothing_found());
  EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(mirrors[0].connections(), 1u);
}

}  // namespace
}  // namespace karmad::test
