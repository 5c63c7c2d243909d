#include "agent/health/state.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace karmad {
namespace {

using What = UseError::What;

std::optional<What> what(std::string_view body) {
  const auto error = state_error(ErrorBody(body));
  return error ? std::optional(error->what) : std::nullopt;
}

TEST(StateError, KnowsTheNumbers) {  // SD-023
  const struct {
    int code;
    What what;
  } cases[] = {{10107, What::not_primary},   {13435, What::not_primary}, {10058, What::not_primary},
               {11602, What::recovering},    {13436, What::recovering},  {189, What::recovering},
               {11600, What::shutting_down}, {91, What::shutting_down}};
  for (const auto& c : cases)
    EXPECT_EQ(what(fmt::format(R"({{"code": {}}})", c.code)), c.what) << c.code;
}

TEST(StateError, KnowsTheTypes) {  // SD-023
  EXPECT_EQ(what(R"({"type": "not_primary"})"), What::not_primary);
  EXPECT_EQ(what(R"({"type": "recovering"})"), What::recovering);
  EXPECT_EQ(what(R"({"type": "shutting_down"})"), What::shutting_down);
  EXPECT_EQ(what(R"({"type": "index_not_found_exception"})"), std::nullopt);
}

TEST(StateError, LooksAtTheTopIntoErrorAndIntoWriteConcernError) {  // SD-023
  EXPECT_EQ(what(R"({"error": {"type": "recovering"}, "status": 503})"), What::recovering);
  EXPECT_EQ(what(R"({"error": {"code": 91}})"), What::shutting_down);
  EXPECT_EQ(what(R"({"ok": 1, "writeConcernError": {"code": 11600}})"), What::shutting_down);
  EXPECT_EQ(what(R"({"error": "text", "code": 189})"), What::recovering);
  EXPECT_EQ(what(R"({"ok": 1, "writeErrors": [{"code": 10107}]})"), std::nullopt);
  EXPECT_EQ(what(R"({"details": {"code": 10107}})"), std::nullopt);
}

TEST(StateError, LetsTheCodeDecideWhereThereIsOne) {  // SD-023
  EXPECT_EQ(what(R"({"code": 91, "type": "not_primary"})"), What::shutting_down);
  EXPECT_EQ(what(R"({"code": 1, "type": "not_primary"})"), std::nullopt);
  EXPECT_EQ(what(R"({"code": "10107"})"), std::nullopt) << "a code is a number";
  EXPECT_EQ(what(R"({"code": "x", "type": "recovering"})"), What::recovering);
  EXPECT_EQ(what(R"({"code": 10107.5, "type": "recovering"})"), std::nullopt);
  EXPECT_EQ(what(R"({"code": 18446744073709551615})"), std::nullopt);
}

TEST(StateError, KnowsWhatWasRefusedBeforeAnythingWasDone) {  // CO-032
  const struct {
    std::string_view body;
    bool nothing_done;
  } cases[] = {
      {R"({"code": 10107})", true},
      {R"({"code": 13435})", true},
      {R"({"code": 10058})", true},
      {R"({"code": 13436})", true},
      {R"({"error": {"type": "not_primary"}})", true},
      {R"({"error": {"type": "not_primary"}, "items": [], "n": 0, "created": false})", true},
      {R"({"code": 189})", false},
      {R"({"code": 11602})", false},
      {R"({"code": 11600})", false},
      {R"({"code": 91})", false},
      {R"({"type": "recovering"})", false},
      {R"({"type": "shutting_down"})", false},
      {R"({"writeConcernError": {"code": 10107}})", false},
      {R"({"code": 10107, "n": 1})", false},
      {R"({"code": 10107, "created": true})", false},
      {R"({"error": {"type": "not_primary", "items": [{"insert": {}}]}})", false},
      {R"({"error": {"type": "not_primary"}, "items": [{"insert": {}}]})", false},
      {R"({"code": 10107, "writeErrors": [{"index": 3}]})", false},
  };
  for (const auto& c : cases) {
    const auto error = state_error(ErrorBody(c.body));
    ASSERT_TRUE(error) << c.body;
    EXPECT_EQ(error->nothing_done, c.nothing_done) << c.body;
  }
}

TEST(StateError, ASubStatusCountsWhereTheBodyTellsNoState) {  // CO-032, SD-023
  const struct {
    std::string_view body;
    What what;
    bool nothing_done;
  } cases[] = {
      {"", What::not_primary, true},
      {"replicas are read-only", What::not_primary, true},
      {R"({"error": {"subStatus": 3}})", What::not_primary, true},
      {R"({"items": [{"insert": {}}]})", What::not_primary, false},
      {R"({"code": 189})", What::recovering, false},
  };
  for (const auto& c : cases) {
    const auto error = state_error(ErrorBody(c.body), true);
    ASSERT_TRUE(error) << c.body;
    EXPECT_EQ(error->what, c.what) << c.body;
    EXPECT_EQ(error->nothing_done, c.nothing_done) << c.body;
  }
}

TEST(StateError, CarriesTheVersionMarkAndItsReason) {  // SD-015
  const auto error =
      state_error(ErrorBody(R"({"code": 189, "version": {"process_id": "abc", "counter": 7}})"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->version, (VersionMark{"abc", 7}));
  EXPECT_EQ(error->why, "says that it is recovering (code 189)");
  EXPECT_EQ(error->when, UseError::When::in_use);

  const auto inside = state_error(ErrorBody(
      R"({"version": {"process_id": "top", "counter": 1},
          "error": {"type": "recovering", "version": {"process_id": "in", "counter": 2}}})"));
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->version, (VersionMark{"in", 2}));

  const auto beside = state_error(ErrorBody(
      R"({"version": {"process_id": "top", "counter": 1}, "error": {"type": "recovering"}})"));
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->version, (VersionMark{"top", 1}));
}

TEST(StateError, DoesWithoutAVersionMarkThatIsNone) {
  for (const auto* version :
       {R"("1.0")", "{}", R"({"process_id": "a"})", R"({"process_id": 1, "counter": 1})",
        R"({"process_id": "a", "counter": "1"})", R"({"process_id": "a", "counter": 1e99})"}) {
    const auto error =
        state_error(ErrorBody(fmt::format(R"({{"code": 91, "version": {}}})", version)));
    ASSERT_TRUE(error) << version;
    EXPECT_FALSE(error->version) << version;
  }
}

TEST(StateError, FindsNothingInOtherBodies) {
  for (const auto* body :
       {"", " ", "null", "[]", "{", "}", "10107", R"("code")", "<html>", R"({"code": 10107)",
        R"({"code": 10107} trailing)", R"([{"code": 10107}])", "{\"code\": 10107,}",
        R"({"code": null})", R"({"error": null})", R"({"error": [10107]})"})
    EXPECT_EQ(what(body), std::nullopt) << body;
}

TEST(StateError, StandsHostileBytes) {
  std::string deep = R"({"error":)";
  deep.append(60'000, '[');
  EXPECT_EQ(what(deep), std::nullopt);
  deep.append(60'000, ']').append("}");
  EXPECT_EQ(what(deep), std::nullopt);
  EXPECT_EQ(what(std::string("{\"code\0\": 91}", 13)), std::nullopt);
  EXPECT_EQ(what("{\"type\": \"\xff\xfe\", \"error\": {\"code\": 91}}"), What::shutting_down);

  const std::string whole = R"({"error": {"type": "recovering", "code": 189}})";
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(what(whole.substr(0, i)), std::nullopt) << i;
    for (int byte = 0; byte < 256; ++byte) {
      auto broken = whole;
      broken[i] = static_cast<char>(byte);
      state_error(ErrorBody(broken));
    }
  }
}

TEST(StateError, LooksAtNoBodyThatIsTooLong) {
  const std::string start = R"({"code": 91, "filler": ")";
  const auto filled = [&](std::size_t size) {
    std::string body = start;
    body.append(size - start.size() - 2, 'x').append("\"}");
    return body;
  };
  EXPECT_EQ(what(filled(64 * 1024)), What::shutting_down);
  EXPECT_EQ(what(filled(64 * 1024 + 1)), std::nullopt);
}

}  // namespace
}  // namespace karmad
