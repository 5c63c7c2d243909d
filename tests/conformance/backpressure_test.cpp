#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/error_hint.hpp"
#include "balancer/rules/retry_plan.hpp"
#include "tests/conformance/json_files.hpp"

namespace karmad::conformance {
namespace {

using namespace std::chrono_literals;

void expect_known(const Json& object, std::initializer_list<std::string_view> known) {
  for (const auto& member : object.GetObject())
    if (std::ranges::find(known, text(member.name)) == known.end())
      throw std::runtime_error(fmt::format("unknown field {}", text(member.name)));
}

bool writes_its_result(const Json& operation) {
  const auto* arguments = field(operation, "arguments");
  if (arguments == nullptr) return false;
  for (const auto* stage : elements(*arguments, "pipeline"))
    if (field(*stage, "$out") != nullptr || field(*stage, "$merge") != nullptr) return true;
  return false;
}

RequestClass class_of(const Json& operation) {
  constexpr std::array<std::string_view, 14> reads{"listDatabases",
                                                   "listDatabaseNames",
                                                   "listCollections",
                                                   "listCollectionNames",
                                                   "listIndexes",
                                                   "listIndexNames",
                                                   "createChangeStream",
                                                   "aggregate",
                                                   "countDocuments",
                                                   "estimatedDocumentCount",
                                                   "distinct",
                                                   "find",
                                                   "findOne",
                                                   "getMore"};
  const auto name = text(required(operation, "name"));
  if (name == "runCommand") return RequestClass::unclassified;
  if (writes_its_result(operation)) return RequestClass::write;
  return std::ranges::find(reads, name) != reads.end() ? RequestClass::read : RequestClass::write;
}

/// The one mirror of a test: refuses as often as its fail point says.
class ScriptedMirror {
 public:
  void set_fail_point(const Json& fail_point) {
    const auto& mode = required(fail_point, "mode");
    if (const auto* times = field(mode, "times"); times != nullptr) {
      left_ = static_cast<std::uint64_t>(whole(*times));
    } else {
      left_ = text(mode) == "alwaysOn" ? std::numeric_limits<std::uint64_t>::max() : 0;
    }
    const auto& data = required(fail_point, "data");
    std::string labels;
    for (const auto* label : elements(data, "errorLabels"))
      labels.append(labels.empty() ? "" : ", ").append(fmt::format("\"{}\"", text(*label)));
    body_ = fmt::format(R"({{"error": {{"code": {}, "labels": [{}]}}}})",
                        whole(required(data, "errorCode")), labels);
    follow_ups_only_ = false;
    for (const auto* command : elements(data, "failCommands"))
      if (text(*command) == "getMore") follow_ups_only_ = true;
  }

  bool has_follow_ups() const { return follow_ups_only_; }

  /// How an attempt ends here.
  AttemptSummary attempt(bool follow_up) {
    if (left_ == 0 || follow_ups_only_ != follow_up)
      return {.outcome = Outcome::answered, .sent = true};
    --left_;
    return {
        .outcome = Outcome::agent_error,
        .hint = error_hint(500, Head{}, ErrorBody(body_), std::chrono::system_clock::time_point{}),
        .sent = true};
  }

 private:
  std::uint64_t left_ = 0;
  std::string body_;
  bool follow_ups_only_ = false;
};

/// What happened, in the words of the files.
struct Log {
  std::vector<std::string> commands;
  std::vector<std::string> connections;
};

/// One test of a file: requests through the retry loop, against the mirror.
class Play {
 public:
  explicit Play(unsigned retries) : retries_(retries) {}

  void operation(const Json& operation) {
    const auto object = text(required(operation, "object"));
    if (text(required(operation, "name")) == "failPoint") {
      mirror_.set_fail_point(required(required(operation, "arguments"), "failPoint"));
      return;
    }
    if (object.starts_with("internal_") || object == "fail_point_client" ||
        object == "failPointClient" || object == "retryable-writes-tests")
      return;
    const RetryRules rules{.retry_reads = !object.ends_with("_retryReads_false"),
                           .retry_writes = !object.ends_with("_retryWrites_false"),
                           .overload_max_retries = retries_};
    const RetrySubject subject{.kind = class_of(operation)};
    bool answered = request(rules, subject, false);
    if (answered && mirror_.has_follow_ups()) answered = request(rules, subject, true);
    const auto* error = field(operation, "expectError");
    if (error != nullptr) expect_known(*error, {"isError", "isClientError"});
    EXPECT_EQ(answered, error == nullptr);
  }

  void compare(const Json& expected) const {
    expect_known(expected, {"client", "eventType", "events"});
    const auto* type = field(expected, "eventType");
    std::vector<std::string> wanted;
    for (const auto* event : elements(expected, "events")) {
      const auto& member = *event->MemberBegin();
      const auto* command = field(member.value, "commandName");
      // The end of an abandoned cursor, which is no part of the request.
      if (command != nullptr && text(*command) == "killCursors") continue;
      wanted.push_back(text(member.name));
    }
    EXPECT_EQ(type != nullptr && text(*type) == "cmap" ? log_.connections : log_.commands, wanted);
  }

 private:
  /// One request; jitter 0 keeps it from waiting.
  bool request(const RetryRules& rules, const RetrySubject& subject, bool follow_up) {
    RetryLoop loop(rules, subject);
    for (;;) {
      log_.connections.emplace_back("connectionCheckedOutEvent");
      log_.commands.emplace_back("commandStartedEvent");
      const auto ended = mirror_.attempt(follow_up);
      const bool answered = ended.outcome == Outcome::answered;
      log_.commands.emplace_back(answered ? "commandSucceededEvent" : "commandFailedEvent");
      log_.connections.emplace_back("connectionCheckedInEvent");  // before any pause (BP-014)
      const auto decision = loop.after(ended, 1h, 0, nullptr);
      EXPECT_EQ(decision.pause, 0us);
      if (!decision.is_retry()) return answered;
      EXPECT_EQ(decision.reason, AttemptReason::overload);
    }
  }

  unsigned retries_;
  ScriptedMirror mirror_;
  Log log_;
};

void run(const DataFile& data, unsigned retries) {
  const auto file = read(data, {"description", "schemaVersion", "runOnRequirements",
                                "createEntities", "_yamlAnchors", "initialData", "tests"});
  SCOPED_TRACE(text(required(file, "description")));
  const auto tests = elements(file, "tests");
  EXPECT_FALSE(tests.empty());
  for (const auto* test : tests) {
    SCOPED_TRACE(text(required(*test, "description")));
    expect_known(*test, {"description", "runOnRequirements", "operations", "expectEvents"});
    Play play(retries);
    for (const auto* operation : elements(*test, "operations")) play.operation(*operation);
    const auto expected = elements(*test, "expectEvents");
    EXPECT_FALSE(expected.empty());
    for (const auto* events : expected) play.compare(*events);
  }
}

// The two revisions contradict each other in the number of retries (X-2).
class Backpressure20260320 : public ::testing::TestWithParam<DataFile> {};
class Backpressure : public ::testing::TestWithParam<DataFile> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Backpressure20260320);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Backpressure);
INSTANTIATE_TEST_SUITE_P(, Backpressure20260320,
                         ::testing::ValuesIn(files_below("client-backpressure-2026-03-20/tests")),
                         by_name);
INSTANTIATE_TEST_SUITE_P(, Backpressure,
                         ::testing::ValuesIn(files_below("client-backpressure/tests")), by_name);

TEST_P(Backpressure20260320, AttemptsWhatTheFileSaysWithFiveRetries) {  // BP-002 … BP-014
  run(GetParam(), RetryRules{}.overload_max_retries);
}

TEST_P(Backpressure, AttemptsWhatTheFileSaysWithTwoRetries) {  // BP-002 … BP-014, X-2
  run(GetParam(), 2);
}

}  // namespace
}  // namespace karmad::conformance
