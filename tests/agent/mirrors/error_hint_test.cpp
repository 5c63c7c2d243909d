#include "agent/health/error_hint.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <string>

namespace karmad {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using Kind = ErrorHint::Kind;

// Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::chrono::sys_seconds kNow{std::chrono::seconds{784111777}};

ErrorHint read_hint(int status, std::initializer_list<Field> fields, std::string_view body = "") {
  Head head;
  for (const auto& field : fields) {
    head.fields.at(head.field_count++) = field;
    head.names.insert(field.name);
  }
  return error_hint(status, head, ErrorBody(body), kNow);
}

struct Labels {
  bool overload = false;
  bool retryable = false;
  bool operator==(const Labels&) const = default;
};
constexpr Labels kBoth{true, true};
constexpr Labels kNeither{};

Labels labels(const ErrorHint& of) {
  return {of.overload, of.retryable};
}

TEST(ErrorHints, ReadsTheLabelsInTheBody) {  // BP-013
  for (const auto* body :
       {R"({"error": {"labels": ["SystemOverloadedError", "RetryableError"]}})",
        R"({"error": {"errorLabels": ["RetryableError", "SystemOverloadedError"]}})",
        R"({"labels": ["SystemOverloadedError", "RetryableError", "Other"]})",
        R"({"errorLabels": ["SystemOverloadedError", "RetryableError"]})"}) {
    const auto found = read_hint(500, {}, body);
    EXPECT_EQ(labels(found), kBoth) << body;
    EXPECT_EQ(found.kind, Kind::overload) << body;
  }
}

TEST(ErrorHints, ReadsTheLabelsInTheHeader) {  // BP-013
  EXPECT_EQ(labels(read_hint(500, {{"x-error-labels", "RetryableError , SystemOverloadedError"}})),
            kBoth);
  EXPECT_EQ(labels(read_hint(500, {{"X-Error-Labels", "RetryableError"},
                                   {"X-Error-Labels", "SystemOverloadedError"}})),
            kBoth);
}

TEST(ErrorHints, NeitherLabelImpliesTheOther) {  // BP-013
  EXPECT_EQ(labels(read_hint(500, {{"X-Error-Labels", "SystemOverloadedError"}})),
            (Labels{true, false}));
  EXPECT_EQ(labels(read_hint(500, {{"X-Error-Labels", "RetryableError"}})), (Labels{false, true}));
  EXPECT_EQ(labels(read_hint(429, {{"X-Error-Labels", "SystemOverloadedError"}})),
            (Labels{true, false}))
      << "what is written counts before what a status implies";
}

TEST(ErrorHints, WithoutLabelsTheStatusImpliesThem) {  // BP-013
  EXPECT_EQ(labels(read_hint(429, {})), kBoth);
  EXPECT_EQ(labels(read_hint(429, {}, R"({"labels": ["Other"]})")), kBoth);
  EXPECT_EQ(labels(read_hint(503, {{"Retry-After", "1"}})), kBoth);
  EXPECT_EQ(labels(read_hint(503, {})), kNeither);
  EXPECT_EQ(labels(read_hint(500, {{"Retry-After", "1"}})), kNeither);
}

TEST(ErrorHints, RecognizesRefusalsOfEngines) {  // BP-013
  const auto* const rejected =
      R"({"error": {"type": "es_rejected_execution_exception", "reason": "queue"}, "status": 503})";
  const auto* const search_rejected =
      R"({"error": {"root_cause": [{"type": "es_rejected_execution_exception"}],
          "type": "search_phase_execution_exception"}, "status": 503})";
  const auto* const breaker =
      R"({"error": {"type": "circuit_breaking_exception", "durability": "TRANSIENT"}})";
  const auto* const permanent =
      R"({"error": {"type": "circuit_breaking_exception", "durability": "PERMANENT"}})";
  EXPECT_EQ(labels(read_hint(503, {}, rejected)), kBoth);
  EXPECT_EQ(labels(read_hint(503, {}, search_rejected)), kBoth);
  EXPECT_EQ(labels(read_hint(503, {}, breaker)), kBoth);
  EXPECT_EQ(labels(read_hint(503, {}, permanent)), kNeither);
  EXPECT_EQ(labels(read_hint(503, {}, R"({"error": "server maxed out, retry in a second"})")),
            kBoth);
  EXPECT_EQ(labels(read_hint(500, {}, R"({"error": {"reason": "maxed out"}})")), kBoth);
  EXPECT_EQ(labels(read_hint(503, {}, "server maxed out")), kBoth);
  EXPECT_EQ(labels(read_hint(400, {}, R"({"error": "no field 'maxed out'"})")), kNeither)
      << "the client's own words";
}

TEST(ErrorHints, ReadsTheDelay) {  // CO-020
  const struct {
    Field field;
    std::optional<Micros> delay;
  } cases[] = {
      {{"Retry-After", "2"}, 2s},
      {{"Retry-After", "0"}, 0s},
      {{"Retry-After-Ms", "15"}, 15ms},
      {{"x-ms-retry-after-ms", "250"}, 250ms},
      {{"x-ms-retryafter", "250"}, 250ms},
      {{"X-Ms-RetryAfter", "0"}, 0s},
      {{"x-ms-retryafter", "0.5"}, std::nullopt},
      {{"Retry-After", "Sun, 06 Nov 1994 08:49:40 GMT"}, 3s},
      {{"Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"}, 0s},
      {{"Retry-After", "Sat, 05 Nov 1994 08:49:37 GMT"}, 0s},         // never negative
      {{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"}, 24h},        // bounded
      {{"Retry-After", "99999999999999999999999999999999999"}, 24h},  //
      {{"Retry-After-Ms", "18446744073709551615"}, 24h},              //
      {{"Retry-After", "-1"}, std::nullopt},                          // not understood: not told
      {{"Retry-After", "1.5"}, std::nullopt},                         //
      {{"Retry-After", "soon"}, std::nullopt},                        //
      {{"Retry-After", ""}, std::nullopt},                            //
      {{"Retry-After", "Sun, 31 Feb 1994 08:49:37 GMT"}, std::nullopt},
      {{"Retry-After", "Sun, 06 anF 1994 08:49:37 GMT"}, std::nullopt},
      {{"Retry-After", "Sun, 06 Nov 1994 24:49:37 GMT"}, std::nullopt},
      {{"Retry-After", "Sun, 06 Nov 1994 08:49:37 CET"}, std::nullopt},
      {{"Retry-After", "Sun, 06 Nov 1994 0x:49:37 GMT"}, std::nullopt},
  };
  for (const auto& c : cases)
    EXPECT_EQ(read_hint(429, {c.field}).delay, c.delay) << c.field.name << ": " << c.field.value;
}

TEST(ErrorHints, TakesTheMostPreciseDelay) {
  EXPECT_EQ(read_hint(429, {{"Retry-After", "1"}, {"x-ms-retry-after-ms", "250"}}).delay, 250ms);
  EXPECT_EQ(read_hint(429, {{"Retry-After", "1"}, {"x-ms-retryafter", "20"}}).delay, 20ms);
  EXPECT_EQ(read_hint(429, {{"Retry-After", "1"}, {"Retry-After-Ms", "soon"}}).delay, 1s);
}

TEST(ErrorHints, RoundsADateUp) {  // BP-034: never shorter than told
  Head head;
  head.names.insert("Retry-After");
  head.fields[head.field_count++] = {"Retry-After", "Sun, 06 Nov 1994 08:49:40 GMT"};
  EXPECT_EQ(error_hint(429, head, ErrorBody(""), kNow + 300ms + 500ns).delay, 2'700'000us);
}

TEST(ErrorHints, ReadsTheBaseOfTheBackoff) {  // BP-016
  const auto base = [](std::string_view value) {
    return read_hint(429, {}, fmt::format(R"({{"error": {{"baseBackoffMS": {}}}}})", value))
        .backoff_base;
  };
  EXPECT_EQ(base("50"), 50ms);
  EXPECT_EQ(base("0.5"), 500us);
  EXPECT_EQ(base("0"), std::nullopt);
  EXPECT_EQ(base("-5"), std::nullopt);
  EXPECT_EQ(base("1e300"), 24h);
  EXPECT_EQ(base("\"50\""), std::nullopt);
  EXPECT_EQ(read_hint(429, {}, R"({"baseBackoffMS": 7})").backoff_base, 7ms);
}

TEST(ErrorHints, DistinguishesTheKinds) {  // CO-020 … CO-057, X-11
  const struct {
    int status;
    const char* sub_status;
    Kind kind;
  } cases[] = {
      {410, "0", Kind::moved},
      {410, "", Kind::moved},
      {410, "1007", Kind::migrating},
      {410, "1008", Kind::migrating},
      {410, "1000", Kind::recreated},
      {410, "1022", Kind::lost_copy},
      {410, "1", Kind::none},
      {449, "", Kind::retry_with},
      {404, "1002", Kind::generation_low},
      {404, "0", Kind::none},
      {403, "1008", Kind::draining},
      {403, "3", Kind::none},
      {429, "", Kind::overload},
      {500, "", Kind::none},
      {400, "1008", Kind::none},
      {200, "1008", Kind::none},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(read_hint(c.status, {{"X-Sub-Status", c.sub_status}}).kind, c.kind)
        << c.status << '/' << c.sub_status;
    if (*c.sub_status == '\0') continue;
    const auto body = fmt::format(R"({{"error": {{"subStatus": {}}}}})", c.sub_status);
    EXPECT_EQ(read_hint(c.status, {}, body).kind, c.kind) << c.status << ' ' << body;
  }
  EXPECT_EQ(read_hint(429, {{"Retry-After", "1"}}).kind, Kind::throttled);
  EXPECT_EQ(read_hint(503, {{"Retry-After", "1"}}).kind, Kind::throttled);
  EXPECT_EQ(read_hint(500, {{"Retry-After", "1"}}).kind, Kind::none);
  EXPECT_EQ(read_hint(500, {}, R"({"error": {"type": "draining"}})").kind, Kind::draining);
  EXPECT_EQ(read_hint(409, {}, R"({"type": "generation_too_low"})").kind, Kind::generation_low);
}

TEST(ErrorHints, KnowTheSubStatusOfAMirrorThatIsNotThePrimary) {  // CO-032
  EXPECT_TRUE(read_hint(403, {{"X-Sub-Status", "3"}}).not_primary);
  EXPECT_TRUE(read_hint(403, {{"x-ms-substatus", "3"}}).not_primary);
  EXPECT_TRUE(read_hint(403, {}, R"({"error": {"subStatus": 3}})").not_primary);
  EXPECT_FALSE(read_hint(403, {{"X-Sub-Status", "1008"}}, R"({"subStatus": 3})").not_primary);
  EXPECT_FALSE(read_hint(403, {}).not_primary);
  EXPECT_FALSE(read_hint(404, {{"X-Sub-Status", "3"}}).not_primary);
}

TEST(ErrorHints, PrefersTheHeaderToTheBody) {
  EXPECT_EQ(read_hint(410, {{"X-Sub-Status", "1022"}}, R"({"subStatus": 1000})").sub_status, 1022U);
  EXPECT_EQ(read_hint(410, {{"X-Sub-Status", "99999999999"}}, R"({"subStatus": 1000})").sub_status,
            1000U);
}

TEST(ErrorHints, SaysNothingAboutGoodAnswers) {
  EXPECT_EQ(read_hint(200, {{"Retry-After", "1"}, {"X-Error-Labels", "SystemOverloadedError"}},
                      R"({"error": {"type": "draining"}})"),
            ErrorHint{});
}

TEST(ErrorHints, SurvivesBodiesThatAreNotWhatTheySeem) {
  const auto deep = "{\"error\":" + std::string(60'000, '[');
  const auto nested = [] {
    std::string bytes;
    for (int i = 0; i < 5'000; ++i) bytes.append("{\"error\":");
    return bytes.append("1").append(5'000, '}');
  }();
  for (const auto& body :
       {""s, " "s, "{"s, "\0{}"s, "null"s, "[]"s, "{}"s, deep, nested, R"({"error": null})"s,
        R"({"error": {"labels": {"SystemOverloadedError": 1}}})"s,
        R"({"labels": [1, null, [], {}]})"s,
        R"({"error": {"root_cause": [[], 1, null, {"type": 7}], "caused_by": 5}})"s,
        R"({"subStatus": -1})"s, R"({"subStatus": 1e99})"s, "{\"type\": \"\xff\xfe\"}"s})
    EXPECT_EQ(read_hint(500, {}, body), ErrorHint{}) << body.substr(0, 80);
  const auto large = R"({"type": "draining", "x": ")" + std::string(64 * 1024, 'x') + "\"}";
  EXPECT_EQ(read_hint(500, {}, large), ErrorHint{}) << "too large to be looked at";
}

TEST(ErrorHints, SurvivesChangedBytes) {
  const std::string body =
      R"({"error": {"labels": ["SystemOverloadedError"], "baseBackoffMS": 50, "subStatus": 1000,
          "root_cause": [{"type": "circuit_breaking_exception", "durability": "TRANSIENT"}]}})";
  std::minstd_rand random(1);
  for (int round = 0; round < 20'000; ++round) {
    auto changed = body;
    for (int i = 0; i < 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    const auto found =
        read_hint(503, {{"Retry-After", std::string_view(changed).substr(0, 5)}}, changed);
    EXPECT_LE(found.backoff_base.value_or(0us), Micros{24h});
  }
}

}  // namespace
}  // namespace karmad
