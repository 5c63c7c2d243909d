// Compares docs/read-preference.md with the program.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "agent/dialect/kinds/dialect_kind.hpp"
#include "agent/dialect/kinds/dialects.hpp"
#include "agent/ping_kinds/ping_kinds.hpp"
#include "balancer/endpoints/endpoints.hpp"
#include "balancer/topology/topology.hpp"
#include "strategies/read_preference.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

/// A fenced block, and the word behind its opening fence.
struct Block {
  std::string language;
  std::string text;
};

std::vector<std::string> document_lines() {
  std::ifstream file(KARMAD_SOURCE_DIR "/docs/read-preference.md");
  std::vector<std::string> all;
  for (std::string line; std::getline(file, line);) all.push_back(line);
  return all;
}

std::string document() {
  std::string text;
  for (const auto& line : document_lines()) text.append(line).append("\n");
  return text;
}

std::vector<Block> blocks() {
  std::vector<Block> all;
  bool open = false;
  for (const auto& line : document_lines()) {
    const bool fence = line.starts_with("```");
    if (fence && !open) all.push_back({line.substr(3), {}});
    if (!fence && open) all.back().text.append(line).append("\n");
    open = open != fence;
  }
  return all;
}

std::vector<std::string> examples() {
  std::vector<std::string> all;
  for (const auto& block : blocks())
    if (block.text.find("type = distributed") != std::string::npos) all.push_back(block.text);
  return all;
}

std::shared_ptr<const Topology> built(const std::string& text) {
  const auto loaded = load_text(text);
  EXPECT_EQ(lines(loaded.problems), Lines{}) << text;
  if (!loaded.settings) return nullptr;
  EXPECT_EQ(lines(loaded.settings->notices), Lines{}) << text;
  AgentRegistry registry(1, std::chrono::seconds(60));
  const Loops loops;
  Problems problems;
  auto topology =
      Topology::build(*loaded.settings, {.registry = registry, .loops = loops}, nullptr, problems);
  EXPECT_EQ(lines(problems), Lines{}) << text;
  return topology;
}

TEST(ReadPreferenceDocument, HasExamplesThatLoadWithoutANotice) {
  EXPECT_EQ(examples().size(), 6U);
  for (const auto& example : examples()) EXPECT_TRUE(built(example)) << example;
}

TEST(ReadPreferenceDocument, HasValidExamples) {
  struct Expected {
    std::size_t example;
    std::string table;
    std::string ping;
    std::string strategy;
    SetKind kind;  ///< before anything is heard of it
    std::string preference;
  };
  const Expected cases[] = {
      {0, "products", "native", "leastops", SetKind::unknown,
       R"({"mode":"secondaryPreferred","tags":[{"dc":"ny"},{}],"maxStalenessSeconds":120})"},
      {1, "products", "http", "nodeads", SetKind::roles, R"({"mode":"nearest"})"},
      {2, "posts", "manticore", "nodeads", SetKind::flat, R"({"mode":"nearest"})"},
      {3, "books", "solr", "leastops", SetKind::unknown,
       R"({"mode":"secondaryPreferred","tags":[{"type":"pull"},{"type":"tlog"},{}]})"},
      {3, "logs", "elasticsearch", "leastops", SetKind::flat,
       R"({"mode":"nearest","tags":[{"zone":"a"},{}]})"},
      {4, "products", "manticore", "random", SetKind::direct, ""},
      {5, "products", "native", "leastops", SetKind::unknown, R"({"mode":"secondary"})"},
  };
  const auto all = examples();
  ASSERT_EQ(all.size(), 6U);
  for (const auto& expected : cases) {
    SCOPED_TRACE(fmt::format("example {}, table {}", expected.example + 1, expected.table));
    const auto topology = built(all[expected.example]);
    ASSERT_TRUE(topology);
    const auto* table = topology->find(expected.table);
    ASSERT_NE(table, nullptr);
    const auto& shard = *table->shards.front();
    EXPECT_TRUE(shard.tracks_state);
    ASSERT_NE(shard.pings.kind, nullptr);
    EXPECT_EQ(shard.pings.kind->name, expected.ping);
    EXPECT_EQ(shard.mirrors->strategy_name(), expected.strategy);
    EXPECT_EQ(shard.mirrors->view(0)->picture.kind, expected.kind);
    EXPECT_EQ(table->preference ? text(*table->preference) : "", expected.preference);
  }
}

TEST(ReadPreferenceDocument, ShowsADescriptionThatIsUnderstood) {  // SD-009
  std::size_t found = 0;
  for (const auto& block : blocks()) {
    if (block.text.find("\"set_version\"") == std::string::npos) continue;
    ++found;
    const auto told = parse_description(block.text);
    ASSERT_TRUE(told) << told.error();
    EXPECT_EQ(told->role, Role::replica);
    EXPECT_EQ(told->set, "products");
    EXPECT_EQ(told->me, "10.0.0.2:9308");
    EXPECT_EQ(told->tags, (Tags{{"dc", "ny"}, {"rack", "2"}}));
    EXPECT_EQ(told->last_write_ms, 1790000000000);
    EXPECT_EQ(told->generation, 1204U);
    EXPECT_EQ(told->set_version, 3);
    EXPECT_EQ(told->version, (VersionMark{"5f1c", 17}));
    EXPECT_EQ(told->load, 0.25);
    // Its written form has only members that the table lists.
    rapidjson::Document written;
    written.Parse(text(*told));
    for (const auto& [name, value] : written.GetObject()) {
      const auto row = fmt::format("`{}`", name.GetString());
      EXPECT_NE(document().find(row), std::string::npos) << row;
    }
  }
  EXPECT_EQ(found, 1U);
}

TEST(ReadPreferenceDocument, ShowsPreferencesThatMeanTheSame) {  // SS-093
  const auto of_short = parse_read_preference(
      "mode=secondary;tags=dc:ny,rack:2|dc:sf|;maxStalenessSeconds=120;hedge=true");
  ASSERT_TRUE(of_short) << of_short.error().why;
  EXPECT_NE(
      document().find("mode=secondary;tags=dc:ny,rack:2|dc:sf|;maxStalenessSeconds=120;hedge=true"),
      std::string::npos);
  EXPECT_NE(document().find(text(*of_short)), std::string::npos) << text(*of_short);
}

TEST(ReadPreferenceDocument, NamesWhatThereIs) {  // SS-107
  const auto text = document();
  std::vector<std::string> names;
  for (const auto mode : {Mode::primary, Mode::primary_preferred, Mode::secondary,
                          Mode::secondary_preferred, Mode::nearest})
    names.emplace_back(name(mode));
  for (const auto kind : ping_kind_names()) names.emplace_back(kind);
  for (const auto kind : kSetKindNames.all()) names.emplace_back(kind);
  for (const auto role : kRoleNames.all()) names.emplace_back(role);
  for (const auto& each : names) EXPECT_NE(text.find("`" + each + "`"), std::string::npos) << each;
}

/// A row of the table of classes, without the name of its class.
struct ClassRow {
  std::set<std::string> endpoints;
  std::set<std::string> statements;
  std::set<std::string> routed;  ///< in a table of dialect `http`
};

std::set<std::string> code_in(const std::string& cell) {
  std::set<std::string> spans;
  for (auto at = cell.find('`'); at != cell.npos; at = cell.find('`', at + 1)) {
    const auto end = cell.find('`', at + 1);
    EXPECT_TRUE(spans.insert(cell.substr(at + 1, end - at - 1)).second) << cell.substr(at, 40);
    at = end;
  }
  return spans;
}

/// The first table below the heading `Classes of requests`.
std::map<std::string, ClassRow> class_rows() {
  std::map<std::string, ClassRow> rows;
  bool inside = false;
  for (const auto& line : document_lines()) {
    if (line.starts_with("| Class | Endpoints |")) inside = true;
    if (inside && !line.starts_with("|")) break;
    if (!inside || line.starts_with("| Class") || line.starts_with("|--")) continue;
    std::vector<std::string> cells;
    std::istringstream text(line.substr(1));
    for (std::string cell; std::getline(text, cell, '|');) cells.push_back(cell);
    if (cells.size() != 4) {
      ADD_FAILURE() << line;
      continue;
    }
    const auto name = cells[0].substr(1, cells[0].size() - 2);
    rows[name] = {code_in(cells[1]), code_in(cells[2]), code_in(cells[3])};
  }
  return rows;
}

std::string name_of(SelectionClass is) {
  switch (is) {
    case SelectionClass::none:
      return "karmad's own";
    case SelectionClass::may_use_secondary:
      return "may use a secondary";
    case SelectionClass::should_use_primary:
      return "should use the primary";
    case SelectionClass::unclassified:
      return "unclassified";
    case SelectionClass::must_use_primary:
      break;
  }
  return "must use the primary";
}

TEST(ReadPreferenceDocument, ListsEveryEndpointInItsClass) {  // SS-105, SS-107
  std::map<std::string, std::set<std::string>> there;
  for (auto& path : own_paths()) there[name_of(SelectionClass::none)].insert(std::move(path));
  for (const auto* kind : dialects())
    for (const auto& endpoint : kind->endpoints) {
      const bool asks = endpoint.statements != Statements::none;
      there[asks ? "by its statements" : name_of(endpoint.selection_class())].emplace(
          endpoint.path);
    }
  std::map<std::string, std::set<std::string>> listed;
  for (const auto& [name, row] : class_rows())
    if (!row.endpoints.empty()) listed[name] = row.endpoints;
  EXPECT_EQ(listed, there);
}

TEST(ReadPreferenceDocument, ListsStatementsInTheirClass) {  // SS-103, SS-104, SS-107
  for (const auto& [name, row] : class_rows())
    for (auto statement : row.statements)
      for (const std::string_view before : {"", " \n", "/* SELECT */", "/* INSERT */ \t"}) {
        const auto written = fmt::format("{}{}", before, statement);
        const auto list = sql::read_statements({.method = "POST",
                                                .path = "/sql",
                                                .query = "mode=raw",
                                                .content_type = "text/plain",
                                                .body = written});
        ASSERT_TRUE(list) << written;
        auto highest = SelectionClass::none;
        for (const auto& one : (*list)->statements)
          highest = std::max(highest, one.selection_class());
        EXPECT_EQ(name_of(highest), name) << written;
      }
}

TEST(ReadPreferenceDocument, ListsRequestsOfTheDialectHttpInTheirClass) {  // SS-101 … SS-105
  const auto dialect = make_opaque_http({.table = "t", .route = "/", .path = {}, .reads = {}});
  std::map<std::string, std::set<std::string>> listed;
  for (const auto& [name, row] : class_rows()) {
    for (const auto& each : row.routed) {
      const auto space = each.find(' ');
      if (space == each.npos) continue;  // a name of a setting
      const auto method = each.substr(0, space);
      auto path = each.substr(space + 1);
      if (path.starts_with("…")) path.replace(0, std::string_view("…").size(), "/x");
      for (const std::string_view any : {"*", "{core}", "{index}"})
        if (const auto at = path.find(any); at != path.npos) path.replace(at, any.size(), "y");
      if (method == "POST" && name == name_of(SelectionClass::may_use_secondary)) continue;
      const auto parsed = dialect->parse(
          {.method = method, .path = path, .query = {}, .content_type = {}, .body = {}});
      ASSERT_TRUE(parsed);
      EXPECT_EQ(name_of(parsed->selection_class()), name) << each;
    }
    listed[name] = row.routed;
  }
  for (const auto tail : kSchemaReads)
    EXPECT_TRUE(listed["should use the primary"].contains(fmt::format("GET …/{}", tail))) << tail;
  for (const auto path : kUpdatePaths)
    EXPECT_TRUE(listed["must use the primary"].contains(fmt::format("POST {}", path))) << path;
}

}  // namespace
}  // namespace karmad
