// The demo agent answers as a search server answered that was recorded, and karmad over two of them
// as one server with all documents. KARMAD_TRUTH=1 prints each difference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tests/support/cluster.hpp"
#include "tests/truth/compare.hpp"

namespace karmad::test {
namespace {

std::unique_ptr<DemoAgent> loaded(const std::string& file, int shard,
                                  std::vector<std::string> more) {
  more.insert(more.end(), {"--load", KARMAD_SOURCE_DIR "/tests/truth/" + file, "--load-shard",
                           std::to_string(shard)});
  return std::make_unique<DemoAgent>("0/1", "truth", 0, 0, more);
}

std::unique_ptr<DemoAgent> with_documents(int shard, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--table", "docs", "--empty", "empty"});
  return loaded("documents.json", shard, std::move(more));
}

/// The agent of the small documents, with the stored queries that were there, too.
std::unique_ptr<DemoAgent> with_shapes(int shard, std::initializer_list<int> queries = {1, 2, 3}) {
  auto out = loaded("shapes-documents.json", shard,
                    {"--table", "t", "--empty", "none", "--queries", "pq"});
  constexpr std::string_view kQueries[] = {"steel", "@title glass", "\\\"red thing\\\""};
  for (const int i : queries)
    ask(out->port(), "PUT", fmt::format("/pq/pq/doc/{}", i),
        fmt::format(R"({{"query":{{"ql":"{}"}},"tags":["a{}"]}})", kQueries[i - 1], i));
  return out;
}

/// Asks every case and tells for each whether the answer was right.
std::vector<bool> right_answers(const std::vector<Case>& cases, const char* server, int port,
                                const std::vector<bool>* only = nullptr) {
  const bool prints = std::getenv("KARMAD_TRUTH") != nullptr;
  std::vector<bool> out;
  HttpClient client(port);
  for (const auto& one : cases) {
    // Where one server refuses, karmad may refuse in its own words or understand more.
    const bool refused = one.record[server]["status"].GetInt() != 200;
    if (only != nullptr && refused) {
      out.push_back((*only)[out.size()]);
      continue;
    }
    const bool asked = only == nullptr || (*only)[out.size()];
    const auto answer = asked ? client.request("POST", one.path, one.body) : Response{};
    const auto differs = !asked    ? std::string("not asked")
                         : !answer ? std::string("no answer")
                                   : difference(one, server, answer->status, answer->body);
    if (prints && asked && !differs.empty())
      fmt::print("{} {} {}\n   -> {}\n", server, one.path, one.body, differs);
    out.push_back(differs.empty());
  }
  return out;
}

std::ptrdiff_t count(const std::vector<bool>& right) {
  return std::ranges::count(right, true);
}

TEST(Truth, OneDemoAgentAnswersTheCasesAsTheRecordedServer) {
  const auto cases = read_cases("cases.jsonl");
  ASSERT_EQ(cases.size(), 642U);
  constexpr const char* kServers[] = {"all", "shard1", "shard2"};
  constexpr int kFloors[] = {619, 618, 616};
  for (int shard = 0; shard < 3; ++shard) {
    const auto agent = with_documents(shard);
    const auto right = count(right_answers(cases, kServers[shard], agent->port()));
    ::testing::Test::RecordProperty(kServers[shard], static_cast<int>(right));
    EXPECT_GE(right, kFloors[shard]) << kServers[shard];
  }
}

TEST(Truth, OneDemoAgentAnswersAllShapes) {
  const auto cases = read_cases("shapes.jsonl");
  ASSERT_EQ(cases.size(), 137U);
  constexpr const char* kServers[] = {"all", "shard1", "shard2"};
  for (int shard = 0; shard < 3; ++shard) {
    const auto agent = with_shapes(shard);
    EXPECT_EQ(count(right_answers(cases, kServers[shard], agent->port())), 137) << kServers[shard];
  }
}

using Agents = std::vector<std::unique_ptr<DemoAgent>>;

/// A table of two shards, whose mirrors stand one behind the other.
std::string table_of(const Agents& agents, std::string_view name) {
  std::string out;
  for (std::size_t shard = 0; shard < 2; ++shard) {
    std::string mirrors;
    for (std::size_t i = 0; i < agents.size() / 2; ++i)
      mirrors += (i == 0 ? "" : "|") + agents[shard * agents.size() / 2 + i]->address();
    out += fmt::format(" agent = {}:{}\n", mirrors, name);
  }
  return fmt::format("table {} {{\n type = distributed\n updates = all\n{}}}\n", name, out);
}

constexpr const char* kSettings = "ha_strategy = roundrobin\n workers = 1";

/// Of what one agent answers right, the share that two shards do, too.
void expect_as_one(bool mirrored, double floor) {
  const auto cases = read_cases("cases.jsonl");
  const auto whole = with_documents(0);
  const auto base = right_answers(cases, "all", whole->port());
  // Shards rank by their own words; these by those of all, so that weights can be compared.
  Agents agents;
  for (const int shard : {1, 2})
    for (int i = 0; i < (mirrored ? 2 : 1); ++i)
      agents.push_back(with_documents(shard, {"--load-frequencies"}));
  Master master(kSettings, table_of(agents, "docs") + table_of(agents, "empty"));
  ASSERT_TRUE(master.ready());
  const auto right = count(right_answers(cases, "all", master.port(), &base));
  ::testing::Test::RecordProperty("right", static_cast<int>(right));
  EXPECT_GE(static_cast<double>(right), floor * static_cast<double>(count(base)))
      << right << " of " << count(base);
}

TEST(Truth, TwoShardsAnswerAsOneServer) {
  expect_as_one(false, 0.985);
}

TEST(Truth, TwoShardsOfTwoMirrorsAnswerAsOneServer) {
  expect_as_one(true, 0.985);
}

// docs/demo.md lists the others.
TEST(Truth, TwoShardsAnswerTheShapes) {
  const auto cases = read_cases("shapes.jsonl");
  const std::vector<bool> all(cases.size(), true);
  for (const int mirrors : {1, 2}) {
    Agents agents;
    for (int i = 0; i < mirrors; ++i) agents.push_back(with_shapes(1, {1, 3}));
    for (int i = 0; i < mirrors; ++i) agents.push_back(with_shapes(2, {2}));
    Master master(kSettings,
                  table_of(agents, "t") + table_of(agents, "none") + table_of(agents, "pq"));
    ASSERT_TRUE(master.ready());
    EXPECT_EQ(count(right_answers(cases, "all", master.port(), &all)), 122) << mirrors;
  }
}

}  // namespace
}  // namespace karmad::test
