// Requests that continue or close a cursor on one mirror. Other mirrors do not have the cursor, so
// there are no retries elsewhere; they need no tickets, because closing a cursor frees resources.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

const std::string kScroll = "/_search/scroll?scroll_id=DXF1ZXJ5";

std::string engine(const std::vector<std::string>& mirrors, const std::string& settings = {}) {
  return fmt::format(
      "table t {{\n type = distributed\n dialect = http\n route = /\n reads = /logs/_search\n {}\n"
      " agent = {}\n}}\n",
      settings, mirrors.size() == 1 ? mirrors[0] : mirrors[0] + "|" + mirrors[1]);
}

/// Two independent copies of an engine.
class FollowUps : public testing::Test {
 protected:
  FakeMirror a{always(json(R"({"error":"no such context"})", 500)), true};
  FakeMirror b{always(json(R"({"hits":"another page"})")), true};

  std::string table(const std::string& settings = {}) const {
    return engine({a.address(), b.address()}, settings);
  }
  std::size_t requests() const { return a.requests() + b.requests(); }
  /// Requests with a cursor that `mirror` has seen: the check of a set is another one.
  static std::size_t scrolls(const FakeMirror& mirror) {
    const auto seen = mirror.seen();
    return static_cast<std::size_t>(
        std::ranges::count_if(seen, [](const auto& request) { return request.contains(kScroll); }));
  }
};

TEST_F(FollowUps, AreNeverRetriedOnAnotherMirror) {  // BP-061
  const struct {
    std::string_view method;
    std::string target;
  } cases[] = {{"GET", kScroll},
               {"POST", "/_search/scroll"},
               {"DELETE", "/_search/scroll"},
               {"GET", "/_async_search/Fm"},
               {"POST", "/_tasks/x:1/_cancel"},
               {"POST", "/_sql/close"}};
  const struct {
    Reaction reaction;
    int status;
  } failures[] = {{json(R"({"error":"no such context"})", 500), 500},
                  {{.bytes = "", .then = Reaction::Then::close}, 502}};
  const RestingMaster master(taking_turns("agent_retry_count = 3"), table());
  for (const auto& failure : failures) {
    a.react(always(failure.reaction));
    for (const auto& c : cases) {
      SCOPED_TRACE(fmt::format("{} {} {}", c.method, c.target, failure.status));
      const std::array before{a.requests(), b.requests()};
      std::multiset<int> statuses;
      for (int i = 0; i < 2; ++i) {
        const auto answer =
            ask(master.port(), c.method, c.target, c.method == "GET" ? "" : R"({"id":"Fm"})");
        statuses.insert(answer.status);
        if (answer.status == 500) {
          EXPECT_EQ(answer.body, R"({"error":"no such context"})");
        }
      }
      EXPECT_EQ(statuses, (std::multiset{200, failure.status}));
      EXPECT_EQ(a.requests() - before[0], 1u);
      EXPECT_EQ(b.requests() - before[1], 1u) << "they take turns: there is no affinity";
    }
  }
  EXPECT_EQ(master.count("agent_retry"), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask(master.port(), "GET", "/logs/_search").status, 200);
  EXPECT_EQ(master.count("agent_retry"), 1) << "a search is";
}

// karmad does not know the mirror that holds a cursor: a preference that leaves one names it. If it
// is gone the follow-up fails, it is not moved.
TEST_F(FollowUps, GoToTheMirrorThatAPreferenceLeavesOrFail) {  // SS-180
  a.react(always(json(R"({"hits":"a page of a"})")));
  const ClosedPort gone;
  const RestingMaster master(
      "workers = 1\n ha_strategy = roundrobin\n tags_in_flat = 1\n selection_timeout = 100ms\n"
      " ha_ping_interval = 1m",
      engine({a.address() + "[tags=node:a]",
              b.address() + "[tags=node:b]|" + gone.address() + "[tags=node:c]"}));
  for (int i = 0; i < 6; ++i) {
    const auto of_b =
        ask(master.port(), "GET", kScroll, "", preferring("mode=nearest;tags=node:b"));
    EXPECT_TRUE(of_b.body.contains("another page")) << of_b.status << of_b.body;
    const auto of_a =
        ask(master.port(), "GET", kScroll, "", preferring("mode=nearest;tags=node:a"));
    EXPECT_TRUE(of_a.body.contains("a page of a")) << of_a.status << of_a.body;
  }
  for (int i = 0; i < 3; ++i)
    EXPECT_GE(ask(master.port(), "GET", kScroll, "", preferring("mode=nearest;tags=node:c")).status,
              500);
  EXPECT_EQ(scrolls(a), 6u);
  EXPECT_EQ(scrolls(b), 6u);
}

TEST_F(FollowUps, WaitForTheSameMirrorWhenItRefusesThem) {  // BP-002
  const auto busy_once = [](std::string_view fields) {
    return [fields = std::string(fields), n = 0](const std::string&) mutable {
      return n++ == 0 ? refused(429, fields) : json(R"({"hits":"the next page"})");
    };
  };
  for (const std::string fields : {"", "Retry-After-Ms: 20\r\n"}) {
    SCOPED_TRACE(fields);
    FakeMirror only(busy_once(fields), true);
    const RestingMaster master(taking_turns(), engine({only.address(), b.address()}));
    const auto answer = ask(master.port(), "GET", kScroll);
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body.contains("the next page")) << answer.body;
    EXPECT_EQ(only.requests(), 2u);
    EXPECT_EQ(b.requests(), 0u);
  }
}

TEST_F(FollowUps, AreNotHedged) {
  a.react(always(slowly(300ms)));
  b.react(always(slowly(300ms)));
  const RestingMaster master(taking_turns("hedge = 20ms"), table());
  EXPECT_EQ(ask(master.port(), "GET", kScroll).status, 200);
  EXPECT_EQ(requests(), 1u);
  EXPECT_EQ(master.count("hedges"), 0);
}

TEST(FollowUpsAndTickets, NeedNone) {  // AC-005
  FakeMirror mirror(
      [](const std::string& request) {
        return request.contains("/_doc/") || request.contains("/logs/_search") ? silence()
                                                                               : json("{}");
      },
      true);
  const RestingMaster master(
      taking_turns("update_tickets = 1\n search_tickets = 1\n ticket_queue_depth = 0"),
      engine({mirror.address()}));
  const Pending update(master, "/logs/_doc/1", "{}");
  const Pending search(master, "/logs/_search", "{}");
  ASSERT_TRUE(eventually([&] { return mirror.requests() == 2; }));
  EXPECT_EQ(ask(master.port(), "DELETE", "/logs/_doc/1").status, 429);
  EXPECT_EQ(ask(master.port(), "GET", "/logs/_count").status, 429);
  EXPECT_EQ(ask(master.port(), "GET", kScroll).status, 200);
  EXPECT_EQ(ask(master.port(), "DELETE", "/_search/scroll", R"({"scroll_id":"x"})").status, 200);
  EXPECT_EQ(ask(master.port(), "POST", "/_tasks/x:1/_cancel").status, 200);
  EXPECT_GE(master.count("tickets_exempt"), 3);
}

}  // namespace
}  // namespace karmad::test
