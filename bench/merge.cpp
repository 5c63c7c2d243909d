// How long does it take to merge the answers of several shards into one page? Only the merge: no
// parsing of the request, no network. Targets: 32 x 20 hits 9 us by score, 16 us by two attributes;
// rows of SQL: 32 x 20 15 us; 2 x 8 MB of hits 30 ms. `dom`: the same page by way of trees.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/merge/merge_steps.hpp"
#include "agent/dialect/plan/plan.hpp"
#include "tests/support/counted_allocations.hpp"

namespace karmad {
namespace {

using test::allocations;

/// Most allocations of a merge, for any number of hits.
constexpr std::size_t kMostAllocations = 8;

/// The same for rows of SQL.
constexpr std::size_t kMostRowAllocations = 32;

/// The answer of a shard: `hits` hits of about 300 bytes, best score first.
std::string shard_answer(unsigned shard, unsigned shards, unsigned hits) {
  std::mt19937 random(shard);
  std::string body =
      R"({"took":1,"timed_out":false,"hits":{"total":4711,"total_relation":"eq","hits":[)";
  for (unsigned i = 0; i < hits; ++i)
    body += fmt::format(
        R"({}{{"_id":{},"_score":{},"_source":{{"title":"fast mirror master laptop","body":"battery lamp blue blue phone engine cable camera table desk camera tripod lens filter strap bag charger memory card reader sleeve","price":{},"brand":"globex","tags":[2,4,6],"meta":{{"color":"blue","n":{}}},"ts":1700007200}}}})",
        i == 0 ? "" : ",", 1'000'000 + i * shards + shard, 100'000 - 3 * i - random() % 3,
        random() % 500, i);
  return body + "]}}";
}

void merge(benchmark::State& state, std::string_view more) {
  const auto shards = static_cast<unsigned>(state.range(0));
  const auto hits = static_cast<unsigned>(state.range(1));
  const auto dialect = make_manticore_json({});
  const auto body = fmt::format(R"({{"table":"t","limit":{}{}}})", hits, more);
  const ClientRequest request{"POST", "/search", "", "application/json", body};
  const auto parsed = dialect->parse(request);
  const auto plan = dialect->plan(request, *parsed, shards);
  std::vector<std::string> answers;
  std::vector<ShardReply> replies;
  for (unsigned s = 0; s < shards; ++s) answers.push_back(shard_answer(s, shards, hits));
  for (const auto& answer : answers) replies.push_back({answer});
  std::string out;
  if (merge(*plan, replies, {}, out)) state.SkipWithError("not merged");
  const auto before = allocations();
  for (auto _ : state) {
    out.clear();
    merge(*plan, replies, {}, out);
    benchmark::DoNotOptimize(out.data());
  }
  const auto each = (allocations() - before) / static_cast<std::size_t>(state.iterations());
  if (each > kMostAllocations) state.SkipWithError("a merge allocates for its hits");
  state.counters["allocations"] = static_cast<double>(each);
  state.counters["input KB"] = static_cast<double>(answers.front().size() * shards) / 1024;
}

BENCHMARK_CAPTURE(merge, by_score, "")
    ->ArgsProduct({{2, 8, 32}, {20, 1000}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(merge, of_8_mb_each, R"(,"max_matches":28000)")
    ->Args({2, 28'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(merge, by_two_attributes, R"(,"sort":[{"n":"asc"},{"price":"desc"}])")
    ->ArgsProduct({{2, 8, 32}, {20}})
    ->Unit(benchmark::kMicrosecond);

/// By score: reads each answer into a tree, sorts the hits, and writes the page.
void dom(benchmark::State& state) {
  const auto shards = static_cast<unsigned>(state.range(0));
  const auto hits = static_cast<unsigned>(state.range(1));
  std::vector<std::string> answers;
  for (unsigned s = 0; s < shards; ++s) answers.push_back(shard_answer(s, shards, hits));
  for (auto _ : state) {
    std::vector<rapidjson::Document> trees(shards);
    std::vector<const rapidjson::Value*> page;
    for (unsigned s = 0; s < shards; ++s) {
      trees[s].Parse(answers[s].data(), answers[s].size());
      for (const auto& hit : trees[s]["hits"]["hits"].GetArray()) page.push_back(&hit);
    }
    std::ranges::stable_sort(page, std::greater(),
                             [](const auto* hit) { return (*hit)["_score"].GetInt64(); });
    page.resize(hits);
    rapidjson::StringBuffer out;
    rapidjson::Writer writer(out);
    writer.StartArray();
    for (const auto* hit : page) hit->Accept(writer);
    writer.EndArray();
    benchmark::DoNotOptimize(out.GetString());
  }
}
BENCHMARK(dom)->ArgsProduct({{2, 8, 32}, {20, 1000}})->Unit(benchmark::kMicrosecond);

/// The reply of a shard to a SELECT: the rows, best price first, and SHOW META.
std::string shard_rows(unsigned shard, unsigned shards, unsigned rows) {
  std::string body =
      "[{\n\"columns\":[{\"id\":{\"type\":\"long "
      "long\"}},{\"price\":{\"type\":\"long\"}},{\"rating\":{"
      "\"type\":\"float\"}},{\"brand\":{\"type\":\"string\"}},{\"tags\":{\"type\":\"multi\"}},{"
      "\"meta\":"
      "{\"type\":\"json\"}},{\"ts\":{\"type\":\"long\"}}],\n\"data\":[\n";
  for (unsigned i = 0; i < rows; ++i)
    body += fmt::format(
        R"({}{{"id":{},"price":{},"rating":1.450000,"brand":"globex","tags":"2,3,5","meta":"{{\"color\":\"red\",\"n\":{}}}","ts":1700003600}})",
        i == 0 ? "" : ",\n", 1'000'000 + i * shards + shard, 100'000 - 3 * i - shard % 3, i);
  body += fmt::format("\n],\n\"total\":{},\n\"error\":\"\",\n\"warning\":\"\"\n}},\n", rows);
  body +=
      "{\n\"columns\":[{\"Variable_name\":{\"type\":\"string\"}},{\"Value\":{\"type\":\"string\"}}]"
      ",\n"
      "\"data\":[\n";
  constexpr const char* kMeta[][2] = {{"total", "20"},          {"total_found", "4711"},
                                      {"total_relation", "eq"}, {"time", "0.001"},
                                      {"keyword[0]", "mirror"}, {"docs[0]", "254"},
                                      {"hits[0]", "370"}};
  for (const auto& row : kMeta)
    body += fmt::format(R"({}{{"Variable_name":"{}","Value":"{}"}})",
                        &row == &kMeta[0] ? "" : ",\n", row[0], row[1]);
  return body + "\n],\n\"total\":7,\n\"error\":\"\",\n\"warning\":\"\"\n}]";
}

void merge_rows(benchmark::State& state, RowForm form) {
  const auto shards = static_cast<unsigned>(state.range(0));
  const auto rows = static_cast<unsigned>(state.range(1));
  SelectPlan plan;
  plan.form = form;
  plan.rows.order = {{{1}, true}, {{0}}};
  plan.rows.id = ColumnAt{0};
  plan.rows.limit = rows;
  std::vector<std::string> answers;
  std::vector<ShardReply> replies;
  for (unsigned s = 0; s < shards; ++s) answers.push_back(shard_rows(s, shards, rows));
  for (const auto& answer : answers) replies.push_back({answer});
  std::string out;
  if (merge_replies(plan, replies, {}, out)) state.SkipWithError("not merged");
  const auto before = allocations();
  for (auto _ : state) {
    out.clear();
    merge_replies(plan, replies, {}, out);
    benchmark::DoNotOptimize(out.data());
  }
  const auto each = (allocations() - before) / static_cast<std::size_t>(state.iterations());
  if (each > kMostRowAllocations) state.SkipWithError("a merge allocates for its rows");
  state.counters["allocations"] = static_cast<double>(each);
  state.counters["input KB"] = static_cast<double>(answers.front().size() * shards) / 1024;
}
BENCHMARK_CAPTURE(merge_rows, raw, RowForm::raw)
    ->ArgsProduct({{2, 8, 32}, {20, 1000}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(merge_rows, hits, RowForm::hits)->Args({32, 20})->Unit(benchmark::kMicrosecond);

/// Ids with adjacent values of `std::hash`: with an unkeyed hash, 2 x 10000 of them cost quadratic
/// time.
void merge_colliding(benchmark::State& state) {
  const auto hits = static_cast<unsigned>(state.range(0));
  const auto dialect = make_manticore_json({});
  const auto body = fmt::format(R"({{"table":"t","limit":{0},"max_matches":{0}}})", hits);
  const ClientRequest request{"POST", "/search", "", "application/json", body};
  const auto plan = dialect->plan(request, *dialect->parse(request), 2);
  std::string answer =
      R"({"took":1,"timed_out":false,"hits":{"total":1,"total_relation":"eq","hits":[)";
  const auto mask = std::bit_ceil(std::size_t{hits} * 2 + 2) - 1;
  std::string id;
  for (std::uint64_t i = 0, found = 0; found < hits; ++i) {
    id = fmt::format("{}", i);
    if ((std::hash<std::string_view>{}(id)&mask) > mask / 1024) continue;
    answer += fmt::format(R"({}{{"_id":{},"_score":1}})", found++ == 0 ? "" : ",", id);
  }
  answer += "]}}";
  const ShardReply replies[] = {{answer},
                                {R"({"took":1,"timed_out":false,"hits":{"total":0,"hits":[]}})"}};
  std::string out;
  if (merge(*plan, replies, {}, out)) state.SkipWithError("not merged");
  for (auto _ : state) {
    out.clear();
    merge(*plan, replies, {}, out);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(merge_colliding)->Arg(10'000)->Unit(benchmark::kMicrosecond);

void parse(benchmark::State& state) {
  const auto dialect = make_manticore_json({});
  const std::string body =
      R"({"table":"products","query":{"bool":{"must":[{"match":{"title":"mirror"}}],"filter":[{"range":{"price":{"gte":100,"lt":110}}}]}},"limit":3,"_source":["price","brand"]})";
  const ClientRequest request{"POST", "/search", "", "application/json", body};
  for (auto _ : state) benchmark::DoNotOptimize(dialect->parse(request));
}
BENCHMARK(parse);

}  // namespace
}  // namespace karmad
