// The files of the specification about overload, put to the real program: a command is a request of
// its class to a table of dialect `http`, a fail point a mirror that refuses it. What the program
// did is read from its trace and from what the mirror got.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/json_files.hpp"
#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

using namespace karmad::conformance;
using Events = std::vector<std::string>;

constexpr std::string_view kOther = "/db/other";  // no fail point has it
constexpr std::string_view kGetMore = "/db/_search/scroll/cursor";

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

/// The method whose requests have the class of the operation: read, unclassified or update.
std::string_view method_of(const Json& operation) {
  constexpr std::array<std::string_view, 13> kReads{
      "listDatabases",  "listDatabaseNames",      "listCollections", "listCollectionNames",
      "listIndexes",    "listIndexNames",         "aggregate",       "createChangeStream",
      "countDocuments", "estimatedDocumentCount", "distinct",        "find",
      "findOne"};
  const auto name = text(required(operation, "name"));
  if (name == "runCommand") return "POST";
  const bool reads = std::ranges::find(kReads, name) != kReads.end();
  return reads && !writes_its_result(operation) ? "GET" : "PUT";
}

/// The command that a request to the mirror stands for.
std::string command_in(const std::string& request) {
  const auto begin = request.find(' ') + 1;
  const auto target = request.substr(begin, request.find(' ', begin) - begin);
  return target == kGetMore ? "getMore" : target.substr(target.rfind('/') + 1);
}

/// Refuses commands as often as a fail point says.
class FailPoint {
 public:
  explicit FailPoint(const Json& fail_point) {
    const auto& mode = required(fail_point, "mode");
    if (const auto* times = field(mode, "times"); times != nullptr) {
      left_ = whole(*times);
    } else if (text(mode) == "alwaysOn") {
      left_ = std::numeric_limits<std::int64_t>::max();
    }
    const auto& data = required(fail_point, "data");
    std::string labels;
    for (const auto* label : elements(data, "errorLabels"))
      labels.append(labels.empty() ? "" : ", ").append(fmt::format("\"{}\"", text(*label)));
    error_ = fmt::format(R"({{"error": {{"code": {}, "labels": [{}]}}}})",
                         whole(required(data, "errorCode")), labels);
    for (const auto* command : elements(data, "failCommands")) commands_.push_back(text(*command));
  }
  const std::vector<std::string>& commands() const { return commands_; }
  Reaction operator()(const std::string& request) {
    if (left_ == 0 || std::ranges::count(commands_, command_in(request)) == 0) return json("{}");
    --left_;
    return json(error_, 500);
  }

 private:
  std::int64_t left_ = 0;
  std::string error_;
  std::vector<std::string> commands_;
};

/// karmad with the options of each client of a file, and their mirror. The one connection serves
/// one attempt at a time.
class Clients {
 public:
  explicit Clients(std::string settings) : settings_(std::move(settings)) {}

  FakeMirror& mirror() { return mirror_; }
  /// That of the client which an object belongs to, by its name.
  const Master& of(const std::string& object) {
    std::string options;
    if (object.ends_with("_retryReads_false")) options = "retry_reads = 0";
    if (object.ends_with("_retryWrites_false")) options = "retry_writes = 0";
    auto& master = masters_[options];
    if (!master)
      master = std::make_unique<RestingMaster>(
          taking_turns(
              fmt::format("agent_max_connections = 1\n retry_budget_percent = 100\n {}\n {}",
                          settings_, options)),
          fmt::format("table t {{\n type = distributed\n dialect = http\n route = /db\n"
                      " agent = {}\n}}\n",
                      mirror_.address()));
    return *master;
  }

 private:
  const std::string settings_;
  FakeMirror mirror_{always(json("{}")), true};
  std::map<std::string, std::unique_ptr<RestingMaster>> masters_;
};

/// One test of a file.
class Play {
 public:
  explicit Play(Clients& clients) : clients_(clients) {}

  void operation(const Json& operation) {
    const auto object = text(required(operation, "object"));
    if (text(required(operation, "name")) == "failPoint") {
      const FailPoint fails(required(required(operation, "arguments"), "failPoint"));
      fails_ = fails.commands();
      clients_.mirror().react(fails);
      return;
    }
    if (object == "retryable-writes-tests") return;  // prepares data, through another client
    const auto* error = field(operation, "expectError");
    if (error != nullptr) expect_known(*error, {"isError", "isClientError"});
    const bool pages = std::ranges::count(fails_, "getMore") != 0;
    const auto command = pages ? text(required(operation, "name")) : fails_.at(0);
    master_ = &clients_.of(object);
    save_retries();
    auto status = request(method_of(operation), "/db/" + command);
    if (pages) {
      EXPECT_EQ(status, 200);
      status = request("GET", kGetMore);
    }
    EXPECT_EQ(status, error == nullptr ? 200 : 500);
  }

  void compare(const Json& expected) {
    expect_known(expected, {"client", "eventType", "events"});
    const auto* type = field(expected, "eventType");
    Events wanted;
    for (const auto* event : elements(expected, "events")) {
      const auto& member = *event->MemberBegin();
      const auto* command = field(member.value, "commandName");
      // The end of an abandoned cursor, which is no part of the request.
      if (command != nullptr && text(*command) == "killCursors") continue;
      wanted.push_back(command == nullptr ? text(member.name)
                                          : text(member.name) + " " + text(*command));
    }
    if (type == nullptr || text(*type) != "cmap") {
      EXPECT_EQ(commands_, wanted);
      return;
    }
    // A further request shows whether the last attempt has returned the connection.
    EXPECT_EQ(request("GET", kOther), 200);
    connections_.pop_back();
    EXPECT_EQ(connections_, wanted);
  }

 private:
  /// Fills the budget of retries, which the files do not know.
  void save_retries() const {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(get(master_->port(), kOther).status, 200);
  }
  /// The status of the answer; notes what the program did for it.
  int request(std::string_view method, std::string_view target) {
    auto& mirror = clients_.mirror();
    const auto before = mirror.requests();
    const auto answer = ask(master_->port(), method, target, method == "GET" ? "" : "{}", kTraced);
    rapidjson::Document trace;
    trace.Parse(answer.fields.at("x-karmad-trace").c_str());
    const auto attempts = elements(trace, "attempts");
    const auto seen = mirror.seen();
    EXPECT_EQ(seen.size() - before, attempts.size());
    for (std::size_t i = 0; i < attempts.size() && before + i < seen.size(); ++i)
      note(*attempts[i], command_in(seen[before + i]));
    return answer.status;
  }
  void note(const Json& attempt, const std::string& command) {
    const bool answered = text(required(attempt, "outcome")) == "answered";
    commands_.push_back("commandStartedEvent " + command);
    commands_.push_back((answered ? "commandSucceededEvent " : "commandFailedEvent ") + command);
    // An attempt that does not connect has the connection of the attempt before.
    if (!connections_.empty() && field(attempt, "connected_us") == nullptr)
      connections_.emplace_back("connectionCheckedInEvent");
    connections_.emplace_back("connectionCheckedOutEvent");
  }

  Clients& clients_;
  const Master* master_ = nullptr;
  std::vector<std::string> fails_;  ///< commands
  Events commands_;
  Events connections_;
};

void run(const DataFile& data, const std::string& settings) {
  const auto file =
      conformance::read(data, {"description", "schemaVersion", "runOnRequirements",
                               "createEntities", "_yamlAnchors", "initialData", "tests"});
  SCOPED_TRACE(text(required(file, "description")));
  Clients clients(settings);
  const auto tests = elements(file, "tests");
  EXPECT_FALSE(tests.empty());
  for (const auto* test : tests) {
    SCOPED_TRACE(text(required(*test, "description")));
    expect_known(*test, {"description", "runOnRequirements", "operations", "expectEvents"});
    Play play(clients);
    for (const auto* operation : elements(*test, "operations")) play.operation(*operation);
    const auto expected = elements(*test, "expectEvents");
    EXPECT_FALSE(expected.empty());
    for (const auto* events : expected) play.compare(*events);
  }
}

// The two revisions contradict each other in the number of retries (X-2).
class ConformanceBackpressure20260320 : public testing::TestWithParam<DataFile> {};
class ConformanceBackpressure : public testing::TestWithParam<DataFile> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConformanceBackpressure20260320);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConformanceBackpressure);
INSTANTIATE_TEST_SUITE_P(, ConformanceBackpressure20260320,
                         testing::ValuesIn(files_below("client-backpressure-2026-03-20/tests")),
                         by_name);
INSTANTIATE_TEST_SUITE_P(, ConformanceBackpressure,
                         testing::ValuesIn(files_below("client-backpressure/tests")), by_name);

TEST_P(ConformanceBackpressure20260320, AttemptsWhatTheFileSaysWithFiveRetries) {
  run(GetParam(), "");  // BP-002 … BP-014
}

TEST_P(ConformanceBackpressure, AttemptsWhatTheFileSaysWithTwoRetries) {
  run(GetParam(), "overload_max_retries = 2");  // BP-002 … BP-014, X-2
}

}  // namespace
}  // namespace karmad::test
