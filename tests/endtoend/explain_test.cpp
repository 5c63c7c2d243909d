// Explanations: the mirrors that a request could use, the rule that removed each other one, and the
// results of the attempts.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

constexpr auto kExplainedSearch = R"({"table":"t","query":{"match_all":{}}})";
constexpr std::string_view kExplained = "X-Karmad-Explain: 1\r\n";

/// A value of a document by its JSON pointer, as text; `none`: it is not there.
std::string at(const std::string& document, const std::string& pointer) {
  rapidjson::Document parsed;
  if (parsed.Parse(document.c_str()).HasParseError()) return "not JSON: " + document;
  const auto* const value = rapidjson::Pointer(pointer.c_str()).Get(parsed);
  if (value == nullptr) return "none";
  if (value->IsString()) return value->GetString();
  if (value->IsBool()) return value->GetBool() ? "true" : "false";
  if (value->IsArray()) return fmt::format("{} items", value->Size());
  return value->IsNumber() ? fmt::format("{}", value->GetDouble()) : "an object";
}

std::string choice(int number, const std::string& rest) {
  return fmt::format("/shards/0/choices/{}{}", number, rest);
}

TEST(Explain, SaysOfAHedgeThatTheLateMirrorIsExcludedBecauseItIsAsked) {
  FakeSet set(2);
  const Master master(taking_turns("hedge = 10ms"), set.table());
  set[0].react([](const std::string& request) {
    return request.contains("\r\n\r\n{") ? silence() : nothing_found();
  });
  std::string told;
  ASSERT_TRUE(eventually([&] {
    const auto answer = master.search(kExplainedSearch, kExplained);
    told = answer.fields.contains("x-karmad-explain") ? answer.fields.at("x-karmad-explain") : "";
    return at(told, choice(1, "/attempt/reason")) == "hedge";
  }));
  EXPECT_EQ(at(told, choice(0, "/chosen")), "1");
  EXPECT_EQ(at(told, choice(0, "/attempt/outcome")), "cancelled") << told;
  EXPECT_EQ(at(told, choice(1, "/mirrors/0/removed_by")),
            "excluded by this request: asked or avoided by another attempt, or found unreachable");
  EXPECT_EQ(at(told, choice(1, "/chosen")), "2");
  EXPECT_EQ(at(told, choice(1, "/attempt/outcome")), "answered");
}

TEST(Explain, ComesInAFieldOfTheAnswerWhereItIsAskedFor) {
  FakeSet set(3);
  const Master master("ha_ping_interval = 0\n ha_strategy = random", set.table());
  const auto answer = master.search(kExplainedSearch, kExplained);
  ASSERT_EQ(answer.status, 200);
  ASSERT_TRUE(answer.fields.contains("x-karmad-explain"));
  const auto& told = answer.fields.at("x-karmad-explain");
  EXPECT_EQ(at(told, "/id"), answer.fields.at("x-request-id"));
  EXPECT_EQ(at(told, "/table"), "t");
  EXPECT_EQ(at(told, "/status"), "200");
  EXPECT_EQ(at(told, "/shards"), "1 items");
  EXPECT_EQ(at(told, "/shards/0/strategy"), "random");
  EXPECT_EQ(at(told, choice(0, "/mirrors")), "3 items");
  for (int i = 0; i < 3; ++i) {
    const auto mirror = choice(0, fmt::format("/mirrors/{}", i));
    EXPECT_EQ(at(told, mirror + "/address"), set[static_cast<std::size_t>(i)].address());
    EXPECT_EQ(at(told, mirror + "/removed_by"), "");
    EXPECT_EQ(at(told, mirror + "/probability"), "0.3333");
    EXPECT_EQ(at(told, mirror + "/in_flight"), "0");
  }
  EXPECT_EQ(at(told, choice(0, "/draws")), "1 items");
  const auto chosen = std::stoul(at(told, choice(0, "/chosen")));
  EXPECT_EQ(set[chosen - 1].requests(), 1U);
  EXPECT_EQ(at(told, choice(0, "/attempt/outcome")), "answered");
  EXPECT_EQ(at(told, choice(0, "/attempt/status")), "200");
  EXPECT_FALSE(master.search(kExplainedSearch).fields.contains("x-karmad-explain"));
}

TEST(Explain, IsThatOfTheLastOfSeveralSearchesThatWasPutToATable) {
  FakeSet set(1);
  const auto table = [&](std::string_view name) {
    return fmt::format("table {} {{\n type = distributed\n agent = {}:s\n}}\n", name,
                       set[0].address());
  };
  const Master master("ha_ping_interval = 0", table("t") + table("u"));
  const auto search = [](std::string_view index) {
    return fmt::format("{{\"index\":\"{}\"}}\n{{}}\n", index);
  };
  for (const std::string_view last : {"t", "u"}) {
    const auto body = search("u") + search("t") + search(last) + search("nosuch");
    const auto answer = ask(master.port(), "POST", "/_msearch", body, kExplained);
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto& told = answer.fields.at("x-karmad-explain");
    EXPECT_EQ(at(told, "/table"), last);
    EXPECT_EQ(at(told, "/status"), "200");
    EXPECT_EQ(at(told, "/shards"), "1 items");
  }
}

TEST(Explain, ShowsThePlanOfARequestThatIsNotPassedOn) {
  FakeSet first(1);
  FakeSet second(1);
  const auto two =
      fmt::format("table t {{\n type = distributed\n agent = {}:s\n agent = {}:s\n}}\n",
                  first[0].address(), second[0].address());
  const Master several("ha_ping_interval = 0", two);
  const auto plan_of = [](const Response& answer) {
    return at(answer.fields.at("x-karmad-explain"), "/plan");
  };
  const auto answer = several.search(kExplainedSearch, kExplained);
  EXPECT_EQ(plan_of(answer), "asks all shards: hits from 0, at most 20, by _score desc, id");
  const auto kept = get(several.port(), "/explain/" + answer.fields.at("x-request-id"));
  EXPECT_EQ(at(kept.body, "/plan"), plan_of(answer));
  const auto untold = several.search(kExplainedSearch, "X-Request-Id: untold\r\n");
  EXPECT_EQ(untold.status, 200);
  EXPECT_EQ(at(get(several.port(), "/explain/untold").body, "/plan"), "none");
  const Master one("ha_ping_interval = 0", first.table());
  EXPECT_EQ(plan_of(one.search(kExplainedSearch, kExplained)), "none");
}

TEST(Explain, ShowsTheRequestsOfAllWorkersByTheirIds) {
  FakeSet set(2);
  const Master master("ha_ping_interval = 0\n workers = 3", set.table());
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(master.search(kExplainedSearch, fmt::format("X-Request-Id: order-{}\r\n", i)).status,
              200);
  for (int i = 0; i < 20; ++i) {
    const auto answer = get(master.port(), fmt::format("/explain/order-{}", i));
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(at(answer.body, "/id"), fmt::format("order-{}", i));
    const auto by_number = get(master.port(), "/explain/" + at(answer.body, "/query"));
    EXPECT_EQ(at(by_number.body, "/id"), fmt::format("order-{}", i));
  }
  const auto unknown = get(master.port(), "/explain/order%2D99");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_TRUE(unknown.body.contains("no request 'order-99' among the last 64 of each worker"))
      << unknown.body;
}

TEST(Explain, ShowsTheRuleThatRemovedAMirrorAndTheRetry) {
  FakeSet set(2);
  set[0].react(always(refused(500, "")));
  const Master master(taking_turns("agent_retry_count = 1"), set.table());
  std::string told;
  for (int i = 0; i < 4 && at(told, choice(1, "/chosen")) != "2"; ++i)
    told = master.search(kExplainedSearch, kExplained).fields.at("x-karmad-explain");
  EXPECT_EQ(at(told, choice(0, "/chosen")), "1");
  EXPECT_EQ(at(told, choice(0, "/attempt/outcome")), "agent error") << told;
  EXPECT_EQ(at(told, choice(0, "/attempt/status")), "500");
  EXPECT_NE(at(told, choice(0, "/attempt/error")), "");
  EXPECT_EQ(at(told, choice(1, "/mirrors/0/removed_by")), "tried by this request");
  EXPECT_EQ(at(told, choice(1, "/mirrors/0/probability")), "0");
  EXPECT_EQ(at(told, choice(1, "/mirrors/1/probability")), "1");
  EXPECT_EQ(at(told, choice(1, "/attempt/reason")), "retry");
  EXPECT_EQ(at(told, choice(1, "/attempt/outcome")), "answered");
}

TEST(Explain, SaysThatAnAnswerWasRejectedByTheMerge) {
  constexpr std::string_view broken =
      R"({"took":0,"timed_out":false,"hits":{"total":1,"total_relation":"eq","hits":[{"_id":7,]}})";
  FakeSet first(2, json(broken));
  FakeSet second(1);
  const auto table = fmt::format(
      "table t {{\n type = distributed\n partial_results = allow\n"
      " agent = {}|{}:s\n agent = {}:s\n}}\n",
      first[0].address(), first[1].address(), second[0].address());
  const Master master(taking_turns(), table);
  const auto answer = master.search(kExplainedSearch, fmt::format("{}{}", kExplained, kTraced));
  EXPECT_EQ(answer.status, 200) << answer.body;
  const auto& told = answer.fields.at("x-karmad-explain");
  const auto& trace = answer.fields.at("x-karmad-trace");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(at(told, choice(i, "/attempt/outcome")), "wrong reply") << told;
    EXPECT_EQ(at(told, choice(i, "/attempt/error")), "a hit is malformed");
  }
  EXPECT_EQ(at(told, "/shards/1/choices/0/attempt/outcome"), "answered");
  for (const auto& [attempt, outcome] :
       {std::pair{0, "wrong reply"}, {1, "answered"}, {2, "wrong reply"}})
    EXPECT_EQ(at(trace, fmt::format("/attempts/{}/outcome", attempt)), outcome) << trace;
}

TEST(Explain, ShowsAMirrorWithErrorsInARow) {
  FakeSet set(2);
  set[0].react(always(refused(500, "")));
  const Master master("ha_strategy = nodeads\n ha_ping_interval = 0\n dead_after = 2", set.table());
  for (int i = 0; i < 60; ++i) master.search(kExplainedSearch);
  const auto now = get(master.port(), "/explain?table=T");
  ASSERT_EQ(now.status, 200) << now.body;
  EXPECT_EQ(at(now.body, choice(0, "/mirrors/0/removed_by")),
            fmt::format("strategy nodeads: {} errors in a row",
                        at(now.body, choice(0, "/mirrors/0/errors_in_a_row"))));
  EXPECT_EQ(at(now.body, choice(0, "/mirrors/1/probability")), "1");
  EXPECT_EQ(at(now.body, choice(0, "/chosen")), "none");
  EXPECT_EQ(at(now.body, choice(0, "/attempt")), "none");
}

TEST(Explain, ShowsWhyNoMirrorIsSuitable) {
  FakeSet set(2);
  const Master master("ha_ping_interval = 1h",
                      set.table("updates = primary", {"replica", "replica"}));
  const auto read = get(master.port(), "/explain?table=t&read_preference=primary");
  ASSERT_EQ(read.status, 200) << read.body;
  EXPECT_EQ(at(read.body, "/criteria/mode"), "primary") << read.body;
  EXPECT_EQ(at(read.body, choice(0, "/mirrors/0/probability")), "0");
  EXPECT_NE(at(read.body, choice(0, "/mirrors/0/removed_by")), "");
}

TEST(Explain, HasOneChoiceOfARequestThatWaitsAndSelectsAgain) {
  FakeSet set(2);
  const Master master("ha_ping_interval = 500ms\n selection_timeout = 3s",
                      set.table("updates = primary", {"replica", "replica"}));
  const auto answer =
      master.search(kExplainedSearch, "X-Read-Preference: primary\r\nX-Karmad-Explain: 1\r\n");
  ASSERT_EQ(answer.status, 503);
  const auto& told = answer.fields.at("x-karmad-explain");
  EXPECT_EQ(at(told, "/shards/0/choices"), "1 items") << told;
  EXPECT_NE(at(told, choice(0, "/mirrors/1/removed_by")), "") << told;
  EXPECT_TRUE(at(told, choice(0, "/refused")).starts_with("no mirrors are suitable")) << told;
}

TEST(Explain, TellsWhyAnUpdateIsRefused) {
  FakeSet set(2);
  const Master master(taking_turns(), set.table());
  const auto write = get(master.port(), "/explain?table=t&operation=write");
  EXPECT_TRUE(at(write.body, choice(0, "/refused")).starts_with("the table has 2 mirrors"))
      << write.body;
}

TEST(Explain, AnswersMistakesWithWhatWouldBeRight) {
  FakeSet set(1);
  const Master master(taking_turns(), set.table());
  const auto says = [&](const std::string& target, int status, std::string_view text) {
    const auto answer = get(master.port(), target);
    EXPECT_EQ(answer.status, status) << target;
    EXPECT_TRUE(answer.body.contains(text)) << target << ": " << answer.body;
  };
  says("/explain", 400, "/explain?table=NAME");
  says("/explain/", 400, "/explain?table=NAME");
  says("/explain?table=none", 404, "no table 'none'; the tables are: t");
  says("/explain?tables=t", 400, "/explain takes table, read_preference, operation");
  says("/explain?table=t&operation=delete", 400, "operation is read or write");
  says("/explain?table=t&read_preference=fastest", 400, "there is no mode 'fastest'");
  says("/explained", 404, "no endpoint");
  says("/agents?table=t", 400, "unknown parameter 'table'; /agents takes no parameters");
  says("/hello?table=nope", 404, "no table 'nope'; the tables are: t");
  says("/hello?tables=t", 400, "unknown parameter 'tables'; /hello takes table");
  says("/healthz?from=balancer", 200, "ok");
  const auto posted = post(master.port(), "/explain?table=t", "{}");
  EXPECT_EQ(posted.status, 405);
  EXPECT_EQ(posted.fields.at("allow"), "GET, HEAD");
}

TEST(Explain, IsOnlyOnRequestWhereRequestsAreNotKept) {
  FakeSet set(1);
  const Master master(taking_turns("explain_requests = 0"), set.table());
  const auto plain = master.search(kExplainedSearch, "X-Request-Id: plain\r\n");
  ASSERT_EQ(plain.status, 200);
  EXPECT_EQ(get(master.port(), "/explain/plain").status, 404);
  const auto asked =
      master.search(kExplainedSearch, "X-Request-Id: asked\r\nX-Karmad-Explain: 1\r\n");
  EXPECT_EQ(at(asked.fields.at("x-karmad-explain"), choice(0, "/chosen")), "1");
  EXPECT_EQ(get(master.port(), "/explain/asked").status, 200);
}

TEST(Explain, IsReadByItsIdIfItIsTooLongForAField) {
  FakeSet set(32);
  const Master master(taking_turns(), set.table());
  const auto answer =
      master.search(kExplainedSearch, "X-Request-Id: a/b?c\r\nX-Karmad-Explain: 1\r\n");
  ASSERT_EQ(answer.status, 200);
  const auto& told = answer.fields.at("x-karmad-explain");
  EXPECT_EQ(at(told, "/see"), "/explain/a%2Fb%3Fc");
  const auto whole = get(master.port(), at(told, "/see"));
  ASSERT_EQ(whole.status, 200);
  EXPECT_EQ(at(whole.body, choice(0, "/mirrors")), "32 items");
}

TEST(Explain, KeepsARequestOverOneReload) {
  FakeSet set(2);
  Master master("ha_ping_interval = 0\n ha_strategy = random", set.table());
  master.search(kExplainedSearch, "X-Request-Id: before\r\n");
  ASSERT_TRUE(master.reload("ha_ping_interval = 0\n ha_strategy = nodeads", set.table()));
  const auto kept = get(master.port(), "/explain/before");
  EXPECT_EQ(at(kept.body, "/shards/0/strategy"), "random") << kept.body;
  ASSERT_TRUE(master.reload("ha_ping_interval = 0\n ha_strategy = noerrors", set.table()));
  EXPECT_EQ(get(master.port(), "/explain/before").status, 404);
}

}  // namespace
}  // namespace karmad::test
