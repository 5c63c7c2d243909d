// The read preference in requests to mirrors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/fake_mirror.hpp"
#include "tests/support/role_set.hpp"

namespace karmad::test {
namespace {

/// The values of X-Read-Preference in the head of a request, whatever its case.
std::vector<std::string> told_in(const std::string& request) {
  constexpr std::string_view kField = "\r\nx-read-preference: ";
  auto head = request.substr(0, request.find("\r\n\r\n") + 2);
  auto lower = head;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  std::vector<std::string> values;
  for (auto found = lower.find(kField); found != lower.npos; found = lower.find(kField, found + 1))
    values.push_back(
        head.substr(found + kField.size(), head.find("\r\n", found + 2) - found - kField.size()));
  return values;
}

/// One mirror with a given role, for either dialect.
class PassingOn : public testing::Test {
 protected:
  FakeMirror mirror{[](const std::string&) { return nothing_found(); }};
  FakeMirror other{[](const std::string&) { return nothing_found(); }};

  std::string set(std::string_view role, std::string_view others) const {
    return fmt::format("{}[role={}]|{}[role={}]", mirror.address(), role, other.address(), others);
  }
  std::vector<std::string> last() const {
    auto seen = mirror.seen();
    for (const auto& request : other.seen()) seen.push_back(request);
    return seen.empty() ? std::vector<std::string>{"nothing arrived"} : told_in(seen.back());
  }
  using Values = std::vector<std::string>;
};

TEST_F(PassingOn, WithRolesEveryModeButPrimaryIsSent) {  // SS-097, SS-072
  const RestingMaster master(choosing(), table_of({set("replica", "arbiter")}));
  ASSERT_TRUE(master.shows({"replica", "arbiter"}));
  const struct {
    std::string_view asked;
    std::string_view sent;
  } cases[] = {
      {"secondary", R"({"mode":"secondary"})"},
      {"nearest", R"({"mode":"nearest"})"},
      {"mode=secondaryPreferred;maxStalenessSeconds=-1", R"({"mode":"secondaryPreferred"})"},
      {R"({"mode":"nearest","tags":[{}],"hedge":{},"unknown":1})",
       R"({"mode":"nearest","tags":[{}],"hedge":{"enabled":true}})"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.asked);
    EXPECT_EQ(master.find(c.asked).status, 200);
    EXPECT_EQ(last(), Values{std::string(c.sent)});
  }
  EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(last(), Values{R"({"mode":"nearest"})"}) << "none was given: this is the default";
}

TEST_F(PassingOn, WithRolesPrimaryIsNotSentNorAnythingWithAnUpdate) {  // SS-097
  mirror.react([](const std::string& request) {
    return request.starts_with("POST /insert") ? json(R"({"created":true})") : nothing_found();
  });
  const RestingMaster master(
      choosing(), table_of({set("primary", "arbiter")}, "read_preference = primaryPreferred"));
  ASSERT_TRUE(master.shows({"primary", "arbiter"}));
  EXPECT_EQ(master.find("primary").status, 200);
  EXPECT_EQ(last(), Values{});
  EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(last(), Values{R"({"mode":"primaryPreferred"})"}) << "the table's own";
  EXPECT_EQ(post(master.port(), "/insert", R"({"table":"t","id":1,"doc":{}})").status, 200);
  EXPECT_EQ(last(), Values{});
}

TEST_F(PassingOn, AmongAlikeMirrorsItIsSentForThemToChoose) {  // SS-090, SS-091, SS-145
  const RestingMaster master(choosing(), table_of({line_of({mirror.address(), other.address()})}));
  ASSERT_TRUE(master.shows({"router", "router"}));
  EXPECT_EQ(master.find("mode=secondary;tags=dc:ny").status, 200);
  EXPECT_EQ(mirror.requests() + other.requests(), 1u);
  EXPECT_EQ(last(), Values{R"({"mode":"secondary","tags":[{"dc":"ny"}]})"});
}

TEST_F(PassingOn, AmongAlikeMirrorsPrimaryIsNotSent) {  // SS-090
  const RestingMaster master(choosing(), table_of({line_of({mirror.address(), other.address()})}));
  ASSERT_TRUE(master.shows({"router", "router"}));
  EXPECT_EQ(master.find("primary").status, 200);
  EXPECT_EQ(last(), Values{});
}

TEST_F(PassingOn, ALoneCopyIsAskedToAcceptTheRead) {  // SS-095, SS-096
  const RestingMaster replica(choosing(), table_of({mirror.address() + "[role=replica]"}));
  ASSERT_TRUE(replica.shows({"replica"}));
  EXPECT_EQ(replica.find().status, 200);
  EXPECT_EQ(last(), Values{R"({"mode":"primaryPreferred"})"});
  EXPECT_EQ(replica.find("primary").status, 200);
  EXPECT_EQ(last(), Values{R"({"mode":"primaryPreferred"})"});
  EXPECT_EQ(replica.find("secondary").status, 200);
  EXPECT_EQ(last(), Values{R"({"mode":"secondary"})"});
  const RestingMaster standalone(choosing(), table_of({mirror.address() + "[role=standalone]"}));
  ASSERT_TRUE(standalone.shows({"standalone"}));
  EXPECT_EQ(standalone.find("secondary").status, 200);
  EXPECT_EQ(last(), Values{});
}

// Requests that pass through unparsed lose the field and the parameter of the client.
TEST_F(PassingOn, AnOpaqueServerGetsPreferencesByTheSameRules) {  // SS-090 … SS-097
  const auto opaque = [&](std::string_view mirrors) {
    return fmt::format(
        "table t {{\n type = distributed\n dialect = http\n route = /books\n"
        " agent = {}\n}}\n",
        mirrors);
  };
  const auto line = [&] {
    const auto seen = mirror.seen().back();
    return seen.substr(0, seen.find("\r\n"));
  };
  const RestingMaster roles(choosing(), opaque(set("primary", "arbiter")));
  ASSERT_TRUE(roles.shows({"primary", "arbiter"}));
  const struct {
    std::string_view target;
    std::string_view field;
    std::string_view line;
    Values sent;
  } cases[] = {
      {"/books/a?x=1&read_preference=nearest&y=2", "", "GET /books/a?x=1&y=2 HTTP/1.1",
       Values{R"({"mode":"nearest"})"}},
      {"/books/a?read_preference=primary", "", "GET /books/a HTTP/1.1", Values{}},
      {"/books?read_preference=mode%3Dnearest%3Btags%3Ddc%3Any%7C&x", "", "GET /books?x HTTP/1.1",
       Values{R"({"mode":"nearest","tags":[{"dc":"ny"},{}]})"}},
      {"/books?x&read_preference=nearest", "nearest", "GET /books?x HTTP/1.1",
       Values{R"({"mode":"nearest"})"}},
      {"/books?read_preference=nearest&&x=1&read_preference=nearest", "nearest",
       "GET /books?&x=1 HTTP/1.1", Values{R"({"mode":"nearest"})"}},
      {"/books?xread_preference=1", "mode=primaryPreferred; hedge=false",
       "GET /books?xread_preference=1 HTTP/1.1",
       Values{R"({"mode":"primaryPreferred","hedge":{"enabled":false}})"}},
      {"/books?x", "primary", "GET /books?x HTTP/1.1", Values{}},
      {"/books?x", "", "GET /books?x HTTP/1.1", Values{R"({"mode":"nearest"})"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.target, c.field));
    const auto fields = c.field.empty() ? std::string() : preferring(c.field);
    const auto answer = ask(roles.port(), "GET", c.target, {}, fields);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(line(), c.line);
    EXPECT_EQ(last(), c.sent);
  }
  // What may write goes to the primary, and has no choice.
  EXPECT_EQ(ask(roles.port(), "PUT", "/books/1", "x", preferring("nearest")).status, 400);
  EXPECT_EQ(ask(roles.port(), "PUT", "/books/1", "x").status, 200);
  EXPECT_EQ(last(), Values{});
}

}  // namespace
}  // namespace karmad::test
