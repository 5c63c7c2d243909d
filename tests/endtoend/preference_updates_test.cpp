// Updates go only to the mirror that accepts them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>

#include "tests/support/fake_set.hpp"
#include "tests/support/role_set.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kInsert = R"({"table":"t","id":1,"doc":{"title":"lamp"}})";
constexpr std::string_view kBulk = "{\"insert\":{\"table\":\"t\",\"id\":1,\"doc\":{}}}\n";

struct Update {
  std::string path;
  std::string_view body;
};

std::vector<Update> every_update() {
  std::vector<Update> all;
  for (const std::string prefix : {"/", "/json/"}) {
    for (const auto* verb : {"insert", "replace", "update"})
      all.push_back({prefix + verb, kInsert});
    all.push_back({prefix + "delete", R"({"table":"t","id":1})"});
    all.push_back({prefix + "bulk", kBulk});
  }
  return all;
}

class Updates : public testing::Test {
 protected:
  DemoAgent a = copy_of_all("primary");
  DemoAgent b = copy_of_all("replica");

  std::string table(const std::string& settings = {}) const {
    return table_of({line_of({a.address(), b.address()})}, "ping_type = native\n " + settings);
  }
  static double updates(const DemoAgent& agent) { return agent.number("/requests/update"); }
};

TEST_F(Updates, ReachOnlyThePrimary) {  // SS-100, SS-144
  const RestingMaster master(choosing(), table("read_preference = secondary"));
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  const auto all = every_update();
  for (const auto& update : all) {
    const auto answer = post(master.port(), update.path, update.body);
    EXPECT_TRUE(answer.status == 200 || answer.status == 201) << update.path << answer.body;
  }
  EXPECT_EQ(updates(a), all.size());
  EXPECT_EQ(updates(b), 0);
  b.control("role=primary");
  ASSERT_TRUE(master.shows({"unknown", "primary"}));
  EXPECT_EQ(post(master.port(), "/insert", kInsert).status, 200);
  EXPECT_EQ(updates(b), 1);
}

TEST_F(Updates, TakeNoReadPreference) {  // SS-103
  const RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  for (const auto& update : every_update())
    for (const std::string_view preference : {"primary", "nearest"}) {
      const auto answer =
          ask(master.port(), "POST", update.path, update.body, preferring(preference));
      EXPECT_EQ(answer.status, 400) << update.path;
      EXPECT_TRUE(answer.body.contains("read preference")) << answer.body;
      const auto target = fmt::format("{}?read_preference={}", update.path, preference);
      EXPECT_EQ(post(master.port(), target, update.body).status, 400) << target;
    }
  EXPECT_EQ(updates(a) + updates(b), 0);
}

TEST_F(Updates, WithoutAPrimaryTheyWaitForOne) {
  const RestingMaster master(choosing(), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  a.control("role=other");
  ASSERT_TRUE(master.shows({"other", "replica"}));
  Pending insert(master, "/insert", kInsert);
  ASSERT_TRUE(master.has_waiting(1));
  b.control("role=primary");
  EXPECT_EQ(insert.answer().status, 200);
  EXPECT_EQ(updates(a), 0);
  EXPECT_EQ(updates(b), 1);
}

TEST_F(Updates, WithoutAPrimaryInTimeTheyFailWithTheReason) {  // SS-170
  const RestingMaster master(choosing("selection_timeout = 200ms"), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  a.control("role=other");
  ASSERT_TRUE(master.shows({"other", "replica"}));
  const auto answer = post(master.port(), "/insert", kInsert);
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_EQ(at(answer.body, "/error/type"), "selection_timeout");
  EXPECT_EQ(at(answer.body, "/error/criteria"), R"({"operation":"write"})");
  EXPECT_EQ(at(answer.body, "/error/mirrors/1/why"), "is a replica, updates go to the primary");
  EXPECT_EQ(updates(a) + updates(b), 0);
}

TEST_F(Updates, ToCopiesThatAreAllAlikeAreRefusedUnlessTheTableAllowsThem) {
  for (auto* agent : {&a, &b}) agent->control("role=router");
  const RestingMaster refusing(choosing(), table());
  ASSERT_TRUE(refusing.shows({"router", "router"}));
  for (const auto& update : every_update()) {
    const auto answer = post(refusing.port(), update.path, update.body);
    EXPECT_EQ(answer.status, 403) << update.path << answer.body;
    EXPECT_TRUE(answer.body.contains("updates = any")) << answer.body;
  }
  EXPECT_EQ(updates(a) + updates(b), 0);
  const RestingMaster allowing(choosing(), table("updates = any"));
  ASSERT_TRUE(allowing.shows({"router", "router"}));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(post(allowing.port(), "/insert", kInsert).status, 200);
  EXPECT_GT(updates(a), 0);
  EXPECT_GT(updates(b), 0);
  EXPECT_EQ(updates(a) + updates(b), 40);
}

// Pings are an hour apart: the mirror's own error causes its check, and a waiting query causes the
// checks of the others (SS-128).
TEST_F(Updates, AMirrorThatReportsItIsNotThePrimaryIsCheckedAtOnce) {  // SD-023, CO-032
  auto settings = choosing("selection_timeout = 5m");
  settings.replace(settings.find("500ms"), 5, "1h");
  const RestingMaster master(settings, table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  a.control("role=replica");
  Pending insert(master, "/insert", kInsert);
  ASSERT_TRUE(master.has_waiting(1));
  EXPECT_EQ(updates(a), 1);
  EXPECT_TRUE(master.shows({"replica", "replica"}));
  b.control("role=primary");
  EXPECT_EQ(insert.answer().status, 200);
  EXPECT_EQ(updates(a), 1);
  EXPECT_EQ(updates(b), 1);
}

/// A mirror with a role and scripted answers to updates.
class Member {
 public:
  explicit Member(std::string role, Reaction reaction = json(R"({"created":true})", 201))
      : role_(std::move(role)), reaction_(std::move(reaction)) {}

  std::string address() const { return mirror_.address(); }
  int updates() const { return updates_; }
  void react(Reaction reaction) {
    const std::lock_guard lock(mutex_);
    reaction_ = std::move(reaction);
  }
  void becomes(std::string role) {
    const std::lock_guard lock(mutex_);
    role_ = std::move(role);
  }
  /// Called when an update arrives: changes the set.
  void on_update(std::function<void()> event) {
    const std::lock_guard lock(mutex_);
    on_update_ = std::move(event);
  }

 private:
  Reaction answer(const std::string& request) {
    if (!request.starts_with("GET /hello")) {
      ++updates_;
      std::function<void()> event;
      {
        const std::lock_guard lock(mutex_);
        event = on_update_;
      }
      if (event) event();
    }
    const std::lock_guard lock(mutex_);
    if (request.starts_with("GET /hello"))
      return json(fmt::format(R"({{"ok":true,"set":"s","role":"{}"}})", role_));
    return reaction_;
  }

  std::mutex mutex_;
  std::string role_;
  Reaction reaction_;
  std::function<void()> on_update_;
  std::atomic<int> updates_{0};
  FakeMirror mirror_{[this](const std::string& request) { return answer(request); }, true};
};

const Reaction kStepsDown =
    json(R"({"error":{"type":"not_primary","reason":"stepped down"},"status":409})", 409);

/// A primary that steps down when an update arrives, and the replica that follows it.
class StepDown : public testing::Test {
 protected:
  Member a{"primary", kStepsDown};
  Member b{"replica"};

  StepDown() {
    a.on_update([this] { elect(a, b); });
    b.on_update([] {});
  }
  static void elect(Member& former, Member& next) {
    former.becomes("replica");
    next.becomes("primary");
  }
  std::string table(const std::string& settings = {}) const {
    return table_of({line_of({a.address(), b.address()})}, "ping_type = native\n " + settings);
  }
  /// Pings are an hour apart, so only the error causes a check of the set.
  static std::string unpinged(const std::string& more = {}) {
    auto settings = choosing(more);
    return settings.replace(settings.find("500ms"), 5, "1h");
  }
  /// An insert that the primary answers with `reaction` while another mirror is elected.
  struct InsertDuringElection {
    explicit InsertDuringElection(const Reaction& reaction) : former("primary", reaction) {
      former.on_update([this] { elect(former, next); });
      const RestingMaster master(unpinged(), table_of({line_of({former.address(), next.address()})},
                                                      "ping_type = native"));
      EXPECT_TRUE(master.shows({"primary", "replica"}));
      answer = post(master.port(), "/insert", kInsert);
      primary_retries = master.count("primary_retries");
    }
    Member former;
    Member next{"replica"};
    Response answer;
    std::int64_t primary_retries = 0;
  };
};

// SD-023, CO-032, BP-060: the former primary refused the update and reported that it did nothing.
TEST_F(StepDown, AnUpdateGoesToTheNewPrimaryOnce) {
  const RestingMaster master(unpinged(), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  const auto answer = post(master.port(), "/insert", kInsert);
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(a.updates(), 1);
  EXPECT_EQ(b.updates(), 1);
  EXPECT_EQ(master.count("primary_retries"), 1);
  EXPECT_EQ(post(master.port(), "/insert", kInsert).status, 201);
  EXPECT_EQ(a.updates(), 1);
}

TEST_F(StepDown, SubStatus3Of403MeansTheSame) {  // CO-032
  for (const auto& refusal :
       {json(R"({"error":{"subStatus":3},"status":403})", 403),
        refused(403, "X-Sub-Status: 3\r\n", "read-only"), refused(403, "x-ms-substatus: 3\r\n")}) {
    SCOPED_TRACE(refusal.bytes);
    const InsertDuringElection insert(refusal);
    EXPECT_EQ(insert.answer.status, 201) << insert.answer.body;
    EXPECT_EQ(insert.former.updates(), 1);
    EXPECT_EQ(insert.next.updates(), 1);
    EXPECT_EQ(insert.primary_retries, 1);
  }
}

TEST_F(StepDown, AnUpdateRefusedWithSubStatus3WaitsForTheElection) {  // CO-032
  a.react(refused(403, "X-Sub-Status: 3\r\n"));
  a.on_update([this] { a.becomes("replica"); });
  const RestingMaster master(unpinged(), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  Pending insert(master, "/insert", kInsert);
  ASSERT_TRUE(master.has_waiting(1));
  b.becomes("primary");
  EXPECT_EQ(insert.answer().status, 201);
  EXPECT_EQ(a.updates(), 1);
  EXPECT_EQ(b.updates(), 1);
}

TEST_F(StepDown, A403WithAnotherSubStatusIsTheClientsAnswer) {  // CO-032, CO-058
  for (const auto* const fields : {"", "X-Sub-Status: 4\r\n"}) {
    SCOPED_TRACE(fields);
    a.react(refused(403, fields));
    elect(b, a);
    const RestingMaster master(unpinged(), table());
    ASSERT_TRUE(master.shows({"primary", "replica"}));
    EXPECT_EQ(post(master.port(), "/insert", kInsert).status, 403);
  }
  EXPECT_EQ(b.updates(), 0);
}

TEST_F(StepDown, ABatchWithoutEffectGoesToTheNewPrimaryToo) {
  const RestingMaster master(unpinged(), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  EXPECT_EQ(post(master.port(), "/bulk", kBulk).status, 201);
  EXPECT_EQ(b.updates(), 1);
}

TEST_F(StepDown, AnUpdateThatMayHaveBeenCarriedOutIsNotRepeated) {
  for (const std::string_view body :
       {R"({"items":[{"insert":{"_id":1}}],"errors":true,"error":{"type":"not_primary"}})",
        R"({"ok":1,"n":3,"code":10107})", R"({"ok":1,"writeConcernError":{"code":10107}})",
        R"({"code":189})", R"({"code":11602})", R"({"code":91})",
        R"({"error":{"type":"shutting_down"}})"}) {
    SCOPED_TRACE(body);
    const InsertDuringElection insert(json(body, 500));
    EXPECT_GE(insert.answer.status, 400) << insert.answer.body;
    EXPECT_EQ(insert.former.updates(), 1);
    EXPECT_EQ(insert.next.updates(), 0);
    EXPECT_EQ(insert.primary_retries, 0);
  }
}

TEST_F(StepDown, NoOtherMirrorIsAskedWhenUpdatesAreNotRetried) {  // BP-006
  const RestingMaster master(unpinged("retry_writes = 0"), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  EXPECT_GE(post(master.port(), "/insert", kInsert).status, 400);
  EXPECT_EQ(b.updates(), 0);
}

TEST_F(StepDown, TheSecondRefusalIsTheLast) {
  b.react(kStepsDown);
  b.on_update([this] { elect(b, a); });
  const RestingMaster master(unpinged(), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  EXPECT_GE(post(master.port(), "/insert", kInsert).status, 400);
  EXPECT_EQ(a.updates(), 1);
  EXPECT_EQ(b.updates(), 1);
}

TEST_F(StepDown, AnUpdateWaitsForTheElection) {
  a.on_update([this] { a.becomes("replica"); });
  const RestingMaster master(unpinged(), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  Pending insert(master, "/insert", kInsert);
  ASSERT_TRUE(master.has_waiting(1));
  b.becomes("primary");
  EXPECT_EQ(insert.answer().status, 201);
  EXPECT_EQ(b.updates(), 1);
}

TEST_F(StepDown, WithoutAnElectionInTimeTheErrorOfTheMirrorIsTheAnswer) {  // BP-063
  a.on_update([this] { a.becomes("replica"); });
  const RestingMaster master(unpinged("selection_timeout = 200ms"), table());
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  const auto answer = post(master.port(), "/insert", kInsert);
  EXPECT_EQ(answer.status, 502) << answer.body;
  EXPECT_TRUE(answer.body.contains("not the primary")) << answer.body;
  EXPECT_EQ(b.updates(), 0);
}

TEST(StateErrors, AReadContinuesAtAnotherMirrorAndTheFirstIsCheckedAtOnce) {  // SD-023
  std::atomic<int> hellos{0};
  FakeMirror recovering([&](const std::string& request) {
    if (!request.starts_with("GET /hello"))
      return json(R"({"error":{"type":"recovering","reason":"x"},"code":13436})", 409);
    ++hellos;
    return json(R"({"ok":true,"role":"primary"})");
  });
  const FakeMirror replica([](const std::string& request) {
    return request.starts_with("GET /hello") ? json(R"({"ok":true,"role":"replica"})")
                                             : nothing_found();
  });
  auto settings = choosing();
  settings.replace(settings.find("500ms"), 5, "1h");
  const RestingMaster master(settings,
                             table_of({line_of({recovering.address(), replica.address()})},
                                      "ping_type = native\n read_preference = primaryPreferred"));
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  EXPECT_EQ(hellos, 1);
  EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(master.number_of(0, "since_start/attempts"), 1);
  EXPECT_EQ(master.number_of(1, "since_start/attempts"), 1);
  EXPECT_TRUE(eventually([&] { return hellos == 2; }));
  EXPECT_TRUE(master.shows({"primary", "replica"}));
}

}  // namespace
}  // namespace karmad::test
