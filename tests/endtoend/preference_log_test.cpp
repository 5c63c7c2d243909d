// The four messages of the component serverSelection (SS-171 … SS-175).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/fake_mirror.hpp"
#include "tests/support/role_set.hpp"
#include "tests/support/selection_messages.hpp"

namespace karmad::test {
namespace {

constexpr auto kStarted = "Server selection started";
constexpr auto kSucceeded = "Server selection succeeded";
constexpr auto kWaiting = "Waiting for suitable server to become available";
constexpr auto kFailed = "Server selection failed";

class SelectionLines : public testing::Test {
 protected:
  FakeMirror replica{[](const std::string&) { return nothing_found(); }};
  ClosedPort primary;
  std::string table = table_of(
      {fmt::format("{}[role=primary]|{}[role=replica]", primary.address(), replica.address())});

  static std::string level(const std::string& level, const std::string& more = {}) {
    return choosing(fmt::format("selection_log_level = {}\n {}", level, more));
  }
  using Words = std::vector<std::string>;
};

TEST_F(SelectionLines, TellWhatWasChosenAndByWhat) {  // SS-172, SS-173
  RestingMaster master(level("debug"), table);
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  EXPECT_EQ(master.find("mode=secondary;tags=|").status, 200);
  ASSERT_TRUE(logged_selections(master, 2));
  EXPECT_EQ(master.find("nearest").status, 200);
  ASSERT_TRUE(logged_selections(master, 4));
  const auto told = selection_messages(master);
  EXPECT_EQ(words_of(told), (Words{kStarted, kSucceeded, kStarted, kSucceeded}));
  for (const auto& message : told) {
    SCOPED_TRACE(message.line);
    EXPECT_EQ(message.text("level"), "debug");
    EXPECT_EQ(message.text("component"), "serverSelection");
    EXPECT_EQ(message.text("operation"), "search");
    EXPECT_TRUE(message.text("topologyDescription").contains("kind roles"));
    EXPECT_TRUE(message.text("topologyDescription").contains(replica.address() + " replica"));
    EXPECT_NE(message.text("time"), "");
    EXPECT_EQ(message.has("serverHost"), message.text("message") == kSucceeded);
  }
  EXPECT_EQ(told[0].text("selector"), R"({"mode":"secondary","tags":[{},{}]})");
  EXPECT_EQ(told[2].text("selector"), R"({"mode":"nearest"})");
  EXPECT_EQ(told[1].text("serverHost"), "127.0.0.1");
  EXPECT_EQ(told[1].json["serverPort"].GetInt(), replica.port());
  EXPECT_EQ(told[0].json["operationId"], told[1].json["operationId"]);
  EXPECT_NE(told[1].json["operationId"], told[2].json["operationId"]);
}

TEST_F(SelectionLines, TellOnceThatOneWaitsAndThenWhyItFailed) {              // SS-174, SS-175
  RestingMaster master(level("debug", "selection_timeout = 1200ms"), table);  // looked at thrice
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  EXPECT_EQ(master.find("primary").status, 503);
  ASSERT_TRUE(logged_selections(master, 3));
  const auto told = selection_messages(master);
  ASSERT_EQ(words_of(told), (Words{kStarted, kWaiting, kFailed}));
  EXPECT_EQ(told[1].text("level"), "info");
  ASSERT_TRUE(told[1].json["remainingTimeMS"].IsInt());
  EXPECT_GT(told[1].json["remainingTimeMS"].GetInt(), 0);
  EXPECT_LE(told[1].json["remainingTimeMS"].GetInt(), 1200);
  EXPECT_FALSE(told[0].has("remainingTimeMS"));
  EXPECT_EQ(told[2].text("level"), "debug");
  EXPECT_EQ(told[2].text("failure"), R"(no mirrors are suitable for {"mode":"primary"})");
  for (const auto& message : told)
    EXPECT_EQ(message.json["operationId"], told[0].json["operationId"]);
}

TEST_F(SelectionLines, HaveAnEndWhenTheClientLeavesBefore) {  // SS-174
  RestingMaster master(level("debug"), table);
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  {
    const auto leaving = Pending::search(master, "primary");
    ASSERT_TRUE(master.has_waiting(1));
  }
  ASSERT_TRUE(logged_selections(master, 3));
  const auto told = selection_messages(master);
  ASSERT_EQ(words_of(told), (Words{kStarted, kWaiting, kFailed}));
  EXPECT_EQ(told[2].text("failure"), "the query is over");
}

TEST_F(SelectionLines, OfOneThatWaitsAndSucceedsAreThree) {
  auto agent = copy_of_all("replica");
  RestingMaster master(level("debug"), table_of({line_of({agent.address(), primary.address()})},
                                                "ping_type = native"));
  ASSERT_TRUE(master.shows({"replica", "unknown"}));
  Pending insert(master, "/insert", R"({"table":"t","id":1,"doc":{}})");
  ASSERT_TRUE(logged_selections(master, 2));
  agent.control("role=primary");
  EXPECT_EQ(insert.answer().status, 200);
  ASSERT_TRUE(logged_selections(master, 3));
  const auto told = selection_messages(master);
  EXPECT_EQ(words_of(told), (Words{kStarted, kWaiting, kSucceeded}));
  EXPECT_EQ(told[0].text("operation"), "insert");
  EXPECT_EQ(told[2].json["serverPort"].GetInt(), agent.port());
}

// An attempt that fails is followed by another selection, of the same operation.
TEST_F(SelectionLines, OfARetryAreOnesOfTheirOwn) {
  RestingMaster master(level("debug"), table_of({line_of({replica.address(), replica.address()})}));
  ASSERT_TRUE(master.shows({"router", "router"}));
  replica.react([n = 0](const std::string&) mutable {
    return n++ == 0 ? json(R"({"error":"internal error"})", 500) : nothing_found();
  });
  EXPECT_EQ(master.find("nearest").status, 200);
  ASSERT_TRUE(logged_selections(master, 4));
  const auto told = selection_messages(master);
  EXPECT_EQ(words_of(told), (Words{kStarted, kSucceeded, kStarted, kSucceeded}));
  EXPECT_EQ(told[0].json["operationId"], told[3].json["operationId"]);
}

TEST_F(SelectionLines, ReportOnlyWaitsByDefault) {  // the default: info
  RestingMaster master(choosing("selection_timeout = 100ms"), table);
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  EXPECT_EQ(master.find("secondary").status, 200);
  EXPECT_EQ(master.find("primary").status, 503);
  ASSERT_TRUE(logged_selections(master, 1));
  EXPECT_EQ(words_of(selection_messages(master)), (Words{kWaiting}));
}

TEST_F(SelectionLines, AreNoneWithLevelError) {
  RestingMaster master(level("error", "selection_timeout = 100ms"), table);
  ASSERT_TRUE(master.shows({"unknown", "replica"}));
  EXPECT_EQ(master.find("secondary").status, 200);
  EXPECT_EQ(master.find("primary").status, 503);
  master.process().signal(SIGTERM);
  EXPECT_EQ(master.process().wait(), 0);
  EXPECT_TRUE(selection_messages(master).empty());
}

}  // namespace
}  // namespace karmad::test
