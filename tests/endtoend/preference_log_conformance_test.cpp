#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/conformance/json_files.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/role_set.hpp"
#include "tests/support/selection_messages.hpp"

namespace karmad::test {
namespace {

using namespace karmad::conformance;

/// The files of the specification about its log, put to the real program: an insert is an insert, a
/// find a search, a topology a mirror set of that kind, a fail point mirrors that refuse
/// connections.
class Conformance : public testing::TestWithParam<DataFile> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Conformance);
INSTANTIATE_TEST_SUITE_P(, Conformance,
                         testing::ValuesIn(files_below("server-selection/tests/logging")), by_name);

/// Exists only where the data does not.
class ConformanceData : public testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConformanceData);
INSTANTIATE_TEST_SUITE_P(, ConformanceData,
                         testing::ValuesIn(data_present() ? std::vector<std::string>{}
                                                          : std::vector{data_directory().string()}),
                         [](const auto&) { return std::string("IsAbsent"); });

TEST_P(ConformanceData, Skipped) {
  GTEST_SKIP() << "skipped, no data: there is no folder mongodb in " << GetParam();
}

const Json& only_topology(const Json& file) {
  return required(*elements(file, "runOnRequirements").at(0), "topologies")[0];
}

/// The object of that kind and id among those the file creates.
const Json& entity(const Json& file, std::string_view kind, const std::string& id) {
  for (const auto* entity : elements(file, "createEntities"))
    if (const auto* found = field(*entity, kind); found != nullptr)
      if (text(required(*found, "id")) == id) return *found;
  throw std::runtime_error(fmt::format("no {} {}", kind, id));
}

std::string settings_of(const Json& file) {
  const auto& options = required(entity(file, "client", "client"), "uriOptions");
  std::string lines = "workers = 2\n selection_log_level = debug\n request_timeout = 5m\n";
  if (const auto* interval = field(options, "heartbeatFrequencyMS"))
    lines += fmt::format(" ha_ping_interval = {}ms\n", whole(*interval));
  if (const auto* longest = field(options, "serverSelectionTimeoutMS"))
    lines += fmt::format(" selection_timeout = {}ms\n", whole(*longest));
  return lines;
}

/// The mirrors a file's topology has, with their roles when all are well.
struct Mirrors {
  std::vector<std::string> roles;
  std::string settings;

  explicit Mirrors(const std::string& topology) {
    settings = "read_preference = primary\n updates = any\n ";
    if (topology == "replicaset") {
      roles = {"primary", "replica", "replica"};
    } else if (topology == "sharded") {
      roles = {"router", "router"};
    } else if (topology == "single") {
      roles = {"standalone"};
    } else if (topology == "load-balanced") {
      roles = {"router"};
      settings += "ping_type = none";
    } else {
      throw std::runtime_error("unknown topology " + topology);
    }
  }
  std::string table(const std::string& address) const {
    std::string line;
    for (const auto& role : roles) {
      if (!line.empty()) line += "|";
      line += fmt::format("{}[role={}]", address, role);
    }
    return table_of({line}, settings);
  }
};

/// The read preference of the collection that an operation is on, as the short form's header.
std::string preference_of(const Json& file, const std::string& collection) {
  const auto* options = field(entity(file, "collection", collection), "collectionOptions");
  if (options == nullptr) return {};
  const auto& preference = required(*options, "readPreference");
  auto mode = text(required(preference, "mode"));
  mode.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(mode.front())));
  std::string sets;
  for (const auto* set : elements(preference, "tagSets")) {
    if (!sets.empty()) sets += "|";
    for (const auto& tag : set->GetObject())
      sets += fmt::format("{}:{}", tag.name.GetString(), tag.value.GetString());
  }
  return preferring(fmt::format("mode={};tags={}", mode, sets));
}

void expect_value(const Json& expected, const Json& told) {
  const auto* types = field(expected, "$$type");
  if (field(expected, "$$exists") != nullptr) return;
  if (types == nullptr) {
    const bool find = text(expected) == "find";
    EXPECT_EQ(text(told), find ? "search" : text(expected));
  } else if (types->IsString()) {
    EXPECT_EQ(text(*types), "string");
    EXPECT_TRUE(told.IsString());
  } else {
    EXPECT_TRUE(told.IsInt64());
  }
}

void expect_message(const Json& expected, const SelectionMessage& told) {
  SCOPED_TRACE(told.line);
  EXPECT_EQ(told.text("level"), text(required(expected, "level")));
  EXPECT_EQ(told.text("component"), text(required(expected, "component")));
  for (const auto& [name, value] : required(expected, "data").GetObject()) {
    SCOPED_TRACE(name.GetString());
    ASSERT_TRUE(told.has(name.GetString()));
    expect_value(value, told.json[name.GetString()]);
  }
}

void run(const Json& file, const Json& test) {
  const auto operations = elements(test, "operations");
  const bool refuses = std::ranges::any_of(operations, [](const auto* operation) {
    return text(required(*operation, "name")) == "failPoint";
  });
  const FakeMirror mirror([](const std::string& request) {
    return request.starts_with("POST /insert") ? json(R"({"created":true})") : nothing_found();
  });
  const ClosedPort closed_port;
  const Mirrors mirrors(text(only_topology(file)));
  RestingMaster master(settings_of(file),
                       mirrors.table(refuses ? closed_port.address() : mirror.address()));
  for (const auto* operation : operations) {
    const auto name = text(required(*operation, "name"));
    if (name == "failPoint") continue;
    if (name == "waitForEvent") {
      ASSERT_TRUE(master.shows(refuses ? std::vector<std::string>(mirrors.roles.size(), "unknown")
                                       : mirrors.roles));
      continue;
    }
    const bool insert = name == "insertOne";
    ASSERT_TRUE(insert || name == "find") << name;
    const auto fields = preference_of(file, text(required(*operation, "object")));
    const auto answer =
        ask(master.port(), "POST", insert ? "/insert" : "/search",
            insert ? std::string_view(R"({"table":"t","id":1,"doc":{"x":1}})") : kFindAll, fields);
    EXPECT_EQ(answer.status, field(*operation, "expectError") == nullptr ? 200 : 503)
        << answer.body;
  }
  const auto expected = elements(*elements(test, "expectLogMessages").at(0), "messages");
  ASSERT_TRUE(logged_selections(master, expected.size()));
  master.process().signal(SIGTERM);
  EXPECT_EQ(master.process().wait(), 0);
  const auto told = selection_messages(master);
  ASSERT_EQ(told.size(), expected.size()) << master.process().output();
  for (std::size_t i = 0; i < told.size(); ++i) expect_message(*expected[i], told[i]);
}

TEST_P(Conformance, LogsWhatTheFileSays) {  // SS-171 … SS-175
  const auto file = conformance::read(
      GetParam(), {"description", "schemaVersion", "runOnRequirements", "createEntities", "tests"});
  for (const auto* test : elements(file, "tests")) {
    SCOPED_TRACE(text(required(*test, "description")));
    run(file, *test);
  }
}

}  // namespace
}  // namespace karmad::test
