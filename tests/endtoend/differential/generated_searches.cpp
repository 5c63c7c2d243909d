#include "tests/endtoend/differential/generated_searches.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad::test {
namespace {

using Kind = GeneratedSearch::Kind;

constexpr std::string_view kWords[] = {"lamp",   "chair",   "table", "kettle", "oak",  "steel",
                                       "small",  "folding", "blue",  "café",   "zinc", "nowhere",
                                       "garden", "kitchen", "keeps", "Größe",  "the"};
constexpr std::string_view kTexts[] = {"title", "body", "title,body", "*"};
constexpr std::string_view kBrands[] = {"Aurora", "BLUEBIRD", "cobalt", "lumen", "Elm & Sons"};
constexpr std::string_view kColors[] = {"red", "Red", "blue", "violet"};

/// What hits are sorted by; `weight` is treated apart.
constexpr std::string_view kSortable[] = {
    "price",  "rating", "brand",  "seller",     "ts",          "stock",       "id",
    "_score", "meta.n", "meta.s", "meta.color", "meta.size.w", "meta.size.h", "_id"};

/// Fields of few groups; those with many come with a size.
constexpr std::string_view kFewGroups[] = {"brand",      "seller", "tags",  "meta.n",
                                           "meta.color", "meta.s", "rating"};
constexpr std::string_view kManyGroups[] = {"price", "ts", "meta.size.w", "id"};
constexpr std::string_view kComposites[] = {"brand",      "seller", "meta.n",
                                            "meta.color", "meta.s", "price"};

constexpr std::string_view kSources[] = {R"("title")",
                                         R"(["title","price"])",
                                         R"(["brand","meta.color"])",
                                         R"(["m*"])",
                                         R"([])",
                                         R"("*")",
                                         R"({"includes":["title","p*"],"excludes":["price"]})",
                                         R"({"excludes":["body","meta"]})",
                                         R"({"excludes":["s*","m*","t*"]})",
                                         R"({"excludes":["price","rating","ts"]})",
                                         "false"};
constexpr std::string_view kSourcesWithWeight[] = {R"(["title","weight"])", R"(["w*","price"])",
                                                   R"({"excludes":["body"]})", R"("*")"};

constexpr std::string_view kMistakes[] = {
    R"("sort":["nothing"])", R"("sort":[{"price":{"order":"asc","missing":"_last"}}])",
    R"("query":{"equals":{"nothing":1}})", R"("query":{"query_string":"\"open"})",
    R"("limit":0,"aggs":{"a":{"terms":{"field":"nothing"}}})"};

constexpr std::string_view kOtherMistakes[] = {
    R"("sort":["tags"])",
    R"("sort":[{"price":"asc"},{"tags":"desc"}])",
    R"("sort":["price","ts","rating","brand","seller","id"])",
    R"("query":{"regexp":{"brand":"[a"}})",
    R"("limit":0,"aggs":{"a":{"sum":{"field":"meta.n"}}})",
    R"("limit":0,"aggs":{"a":{"avg":{"field":"brand"}}})",
    R"("limit":0,"aggs":{"a":{"composite":{"sources":[{"x":{"terms":{"field":"tags"}}}]}}})",
    R"("expressions":{"price":"1+1"})",
    R"("options":{"out of memory":1})"};

constexpr std::string_view kUnmerged[] = {
    R"("sort":["_random"])", R"("search_after":[1])",
    R"("limit":0,"aggs":{"a":{"significant_terms":{"field":"price"}}})", R"("scroll":"abc")"};

}  // namespace

std::string GeneratedSearch::body(std::string_view table) const {
  std::string name(table);
  if (capitals)
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    });
  const auto index = twice ? fmt::format(R"("index":"{}",)", name) : "";
  return fmt::format(R"({{{}"table":"{}"{}{}}})", index, name, rest.empty() ? "" : ",", rest);
}

std::string GeneratedSearch::page(std::string_view table, std::string_view after) const {
  std::string sources;
  std::string order;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto* comma = i == 0 ? "" : ",";
    sources += fmt::format(R"({}{{"s{}":{{"terms":{{"field":"{}"}}}}}})", comma, i, fields[i]);
    order += fmt::format(R"({}{{"{}":"asc"}})", comma, fields[i]);
  }
  auto composite = fmt::format(R"("composite":{{"sources":[{}])", sources);
  if (size != 0) composite += fmt::format(R"(,"size":{})", size);
  if (!after.empty()) composite += fmt::format(R"(,"after":{})", after);
  composite += sorted ? fmt::format(R"(}},"sort":[{}])", order) : "}";
  auto all = body(table);
  all.insert(all.size() - 1, fmt::format(R"(,"aggs":{{"a":{{{}}}}})", composite));
  return all;
}

std::string SearchGenerator::word() {
  return std::string(one_of(kWords));
}

std::string SearchGenerator::filter() {
  switch (below(9)) {
    case 0:
      return fmt::format(R"({{"equals":{{"brand":"{}"}}}})", one_of(kBrands));
    case 1:
      return fmt::format(R"({{"range":{{"price":{{"gte":{},"lt":{}}}}}}})", below(100),
                         100 + below(400));
    case 2:
      return fmt::format(R"({{"range":{{"rating":{{"gt":{}.5}}}}}})", below(5));
    case 3:
      return fmt::format(R"j({{"in":{{"any(tags)":[{},{}]}}}})j", below(13), below(13));
    case 4:
      return fmt::format(R"({{"equals":{{"meta.color":"{}"}}}})", one_of(kColors));
    case 5:
      return fmt::format(R"({{"range":{{"meta.size.w":{{"lte":{}}}}}}})", below(1200));
    case 6:
      return fmt::format(R"({{"range":{{"id":{{"gt":{}}}}}}})",
                         one_in(2) ? below(1000) : 9007199254740992U);
    case 7:
      return fmt::format(R"({{"range":{{"stock":{{"gte":{}}}}}}})", below(2) * 4000000000000000000);
    default:
      return fmt::format(R"({{"in":{{"price":[{},19,49,{}]}}}})", below(500), below(500));
  }
}

std::string SearchGenerator::query(int depth) {
  switch (below(depth > 0 ? 8 : 6)) {
    case 0:
      return R"({"match_all":{}})";
    case 1:
      return fmt::format(R"({{"match":{{"{}":"{} {}"}}}})", one_of(kTexts), word(), word());
    case 2:
      return fmt::format(R"({{"match":{{"{}":{{"query":"{} {}","operator":"and"}}}}}})",
                         one_of(kTexts), word(), word());
    case 3:
      return fmt::format(R"j({{"query_string":"{} | ({} -{})"}})j", word(), word(), word());
    case 4:
      return fmt::format(R"({{"match":{{"title":"{}"}}}})", word());
    case 5:
      return filter();
    case 6:
      return fmt::format(R"({{"bool":{{"must":[{},{}],"must_not":[{}]}}}})", query(depth - 1),
                         filter(), filter());
    default:
      return fmt::format(R"({{"bool":{{"should":[{},{}]}}}})", query(depth - 1), query(depth - 1));
  }
}

std::string SearchGenerator::sort(GeneratedSearch& out) {
  std::vector<std::string> keys;
  std::string all;
  for (auto count = one_in(12) ? 5 : 1 + below(3); count > 0; --count) {
    auto key = std::string(one_in(12) ? "weight" : one_of(kSortable));
    if (std::ranges::find(keys, key) != keys.end()) continue;
    out.by_weight |= key == "weight";
    const auto* way = one_in(2) ? "asc" : "desc";
    if (!all.empty()) all += ',';
    switch (below(3)) {
      case 0:
        all += fmt::format(R"("{}")", key);
        break;
      case 1:
        all += fmt::format(R"({{"{}":"{}"}})", key, way);
        break;
      default:
        all += fmt::format(R"({{"{}":{{"order":"{}"}}}})", key, way);
    }
    keys.push_back(std::move(key));
  }
  return fmt::format(R"(,"sort":[{}])", all);
}

std::string SearchGenerator::source(bool shows_weight) {
  if (shows_weight) return fmt::format(R"(,"_source":{})", one_of(kSourcesWithWeight));
  return fmt::format(R"(,"_source":{})", one_of(kSources));
}

std::string SearchGenerator::window(bool has_aggregations) {
  std::string out;
  const bool no_hits = one_in(has_aggregations ? 2 : 20);
  if (no_hits) return R"(,"limit":0)";
  const bool other_names = one_in(4);
  const auto limit = one_in(4) ? 1 + below(300) : 1 + below(30);
  const auto offset = one_in(6) ? below(1100) : below(60);
  if (!one_in(4)) out += fmt::format(R"(,"{}":{})", other_names ? "size" : "limit", limit);
  if (one_in(2)) out += fmt::format(R"(,"{}":{})", other_names ? "from" : "offset", offset);
  const auto most = one_in(2) ? 1 + below(200) : 1000 + below(2000);
  if (one_in(8)) out += fmt::format(R"(,"max_matches":{})", most);
  if (one_in(12)) out += fmt::format(R"(,"options":{{"max_matches":{}}})", most);
  return out;
}

std::string SearchGenerator::terms(GeneratedSearch& out, const std::string& name, bool sized) {
  const bool many = one_in(4);
  const auto field = many ? one_of(kManyGroups) : one_of(kFewGroups);
  const auto size =
      many || sized || one_in(2) ? fmt::format(R"(,"size":{})", 1 + below(many ? 20 : 30)) : "";
  std::string order;
  // Ascending by count is guesswork where there are more groups than a shard is asked for.
  const bool up = !many && one_in(2);
  const bool multiple = field == "tags";  // the engine sorts by no such field
  switch (below(4)) {
    case 0:
      if (!multiple)
        order = fmt::format(R"(,"sort":[{{"{}":"{}"}}])", field, one_in(2) ? "asc" : "desc");
      break;
    case 1:
      order = fmt::format(R"j(,"sort":[{{"count(*)":{{"order":"{}"}}}}])j", up ? "asc" : "desc");
      break;
    case 2:
      if (!multiple)
        order = fmt::format(R"j(,"sort":[{{"count(*)":"desc"}},{{"{}":"desc"}}])j", field);
      break;
    default:
      break;
  }
  // Every id is one document's: the order by key alone decides.
  if (many && field != "id" && (order.empty() || order.contains("count(*)")))
    out.inexact[name] = "terms";
  if (field == "meta.color" && order.contains(field)) out.inexact[name] = "tied";
  return fmt::format(R"("terms":{{"field":"{}"{}}}{})", field, size, order);
}

std::string SearchGenerator::metric(GeneratedSearch& out, const std::string& name) {
  constexpr std::string_view kKinds[] = {"min", "max", "sum", "avg"};
  constexpr std::string_view kFields[] = {"price", "rating", "ts", "stock", "weight"};
  constexpr std::string_view kMembers[] = {"meta.n", "meta.s", "meta.size.h"};
  const auto kind = one_of(kKinds);
  const auto field = kind == "avg" && one_in(3) ? one_of(kMembers) : one_of(kFields);
  if (kind == "avg" || (kind == "sum" && field == "weight")) out.inexact[name] = kind;
  if (kind == "sum" && field == "stock") out.inexact[name] = "wide";
  return fmt::format(R"("{}":{{"field":"{}"}})", kind, field);
}

std::string SearchGenerator::aggregation(GeneratedSearch& out, const std::string& name,
                                         bool sized) {
  switch (below(7)) {
    case 0:
      return fmt::format(R"("range":{{"field":"price","keyed":{},"ranges":[{{"to":{}}},)"
                         R"({{"from":{},"to":{}}},{{"from":{}}}]}})",
                         one_in(2), 50 + below(50), 40 + below(60), 200 + below(50), below(500));
    case 1:
      return fmt::format(R"("histogram":{{"field":"{}","interval":{}}})",
                         one_in(2) ? "price" : "meta.size.w", 10 + below(90));
    case 2:
      return fmt::format(R"("histogram":{{"field":"rating","interval":0.5,"offset":0.{}}})",
                         one_in(2) ? 0 : 25);
    case 3:
      return R"("date_histogram":{"field":"ts","calendar_interval":"month"})";
    case 4:
      return terms(out, name, sized);
    default:
      return one_in(2) ? metric(out, name) : terms(out, name, sized);
  }
}

GeneratedSearch SearchGenerator::page() {
  GeneratedSearch out;
  const bool has_aggregations = one_in(2);
  auto& rest = out.rest;
  if (!one_in(6)) rest += R"("query":)" + query(2);
  if (!one_in(3)) rest += sort(out);
  if (out.by_weight || one_in(2)) rest += source(out.by_weight);
  const auto pages = window(has_aggregations);
  rest += pages;
  if (one_in(5)) rest += R"(,"highlight":{"fields":["title"]})";
  if (one_in(8)) rest += R"(,"track_scores":true)";
  if (has_aggregations) {
    rest += R"(,"aggs":{)";
    const auto count = 1 + below(3);
    const bool sized = pages == R"(,"limit":0)";
    for (std::size_t i = 0; i < count; ++i) {
      const auto name = fmt::format("a{}", i);
      rest +=
          fmt::format(R"({}"{}":{{{}}})", i == 0 ? "" : ",", name, aggregation(out, name, sized));
    }
    rest += '}';
  }
  if (rest.starts_with(',')) rest.erase(0, 1);
  return out;
}

GeneratedSearch SearchGenerator::nearest() {
  GeneratedSearch out{.kind = Kind::nearest};
  const auto position = 1 + below(1100);  // every sixteenth id is a large one
  const auto id = position % 16 == 0 ? position + (1ULL << 53) : position;
  const auto of = one_in(3)   ? fmt::format(R"("query_vector":[0.{},-0.{},0.5,0.{}])", below(10),
                                            below(10), below(10))
                  : one_in(8) ? std::string(R"("doc_id":1234567)")
                              : fmt::format(R"("doc_id":{})", id);
  const auto filtered = one_in(3) ? R"(,"filter":)" + filter() : "";
  auto& rest = out.rest;
  rest = fmt::format(R"("knn":{{"field":"embedding","k":{},{}{}}})", 1 + below(60), of, filtered);
  if (one_in(3)) rest += R"(,"query":)" + query(1);
  constexpr std::string_view kSorts[] = {
      R"(["price"])", R"j([{"knn_dist()":"desc"}])j", R"(["brand",{"_knn_dist":"desc"}])",
      R"j(["knn_dist()","price"])j", R"([{"rating":"desc"},"id","_knn_dist"])"};
  if (one_in(2)) rest.append(R"(,"sort":)").append(one_of(kSorts));
  if (one_in(2)) rest += source(false);
  return rest += window(false), out;
}

GeneratedSearch SearchGenerator::composite() {
  GeneratedSearch out{.kind = Kind::composite};
  out.rest = fmt::format(R"("limit":0,"query":{})", query(1));
  for (auto count = 1 + below(3); count > 0; --count) {
    const auto field = std::string(one_of(kComposites));
    if (std::ranges::find(out.fields, field) == out.fields.end()) out.fields.push_back(field);
  }
  if (out.fields.size() > 2) out.fields.pop_back();
  // A search server pages through no more groups than this.
  if (std::ranges::find(out.fields, "price") != out.fields.end())
    out.rest += R"(,"max_matches":3000)";
  out.size = one_in(6) ? 0 : 10 + below(80);
  out.sorted = one_in(2);
  return out;
}

GeneratedSearch SearchGenerator::refused(Kind kind) {
  return {.kind = kind,
          .rest = std::string(kind == Kind::mistake ? one_of(kMistakes) : one_of(kUnmerged))};
}

std::vector<GeneratedSearch> other_mistakes() {
  std::vector<GeneratedSearch> out;
  for (const auto rest : kOtherMistakes)
    out.push_back({.kind = Kind::mistake, .rest = std::string(rest)});
  return out;
}

GeneratedSearch SearchGenerator::next() {
  const auto kind = below(100);
  auto out = kind < 75   ? page()
             : kind < 85 ? nearest()
             : kind < 92 ? composite()
             : kind < 97 ? refused(Kind::mistake)
                         : refused(Kind::unmerged);
  out.capitals = out.kind != Kind::mistake && one_in(20);  // mistakes are told with the name
  out.twice = one_in(20);
  return out;
}

}  // namespace karmad::test
