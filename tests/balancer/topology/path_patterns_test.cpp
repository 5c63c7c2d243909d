#include <gtest/gtest.h>

#include <array>

#include "agent/dialect/kinds/dialects.hpp"
#include "balancer/endpoints/endpoints.hpp"
#include "tests/balancer/topology/built.hpp"

namespace karmad {
namespace {

constexpr std::array kWithPatterns{
    DialectEndpoint{"/search", "POST", TicketClass::search, make_manticore_json},
    DialectEndpoint{"/_search", "POST", TicketClass::search, make_manticore_json},
    DialectEndpoint{"/pq/{table}/search", "POST", TicketClass::search, make_manticore_json},
    DialectEndpoint{"/{table}/_search", "POST", TicketClass::search, make_manticore_json},
    DialectEndpoint{"/{table}/_update/{id}", "POST", TicketClass::update, make_manticore_update},
};
constexpr DialectKind kPatternKind{
    .name = "manticore", .capabilities = {}, .endpoints = kWithPatterns};
constexpr std::array<const DialectKind*, 2> kPatternDialects{&kPatternKind, &kHttp};

constexpr const char* kTables =
    "table products { type = distributed\n agent = a:1\n }\n"
    "table web { type = distributed\n agent = a:2\n dialect = http\n route = /\n }\n";

TEST(PathPatterns, AreServedForConfiguredTablesAndRoutesGetTheRest) {
  Built built;
  built.known = kPatternDialects;
  const auto topology = built.build(kTables);
  ASSERT_TRUE(topology);
  struct Case {
    std::string_view path;
    std::string_view pattern;  ///< of the endpoint; empty: there is none
  };
  for (const auto& [path, pattern] : {Case{"/search", "/search"},
                                      Case{"/_search", "/_search"},
                                      Case{"/products/_search", "/{table}/_search"},
                                      Case{"/PRODUCTS/_search", "/{table}/_search"},
                                      Case{"/nosuch%2Cproducts/_search", "/{table}/_search"},
                                      Case{"/*/_search", "/{table}/_search"},
                                      Case{"/_all/_search", "/{table}/_search"},
                                      Case{"/products/_update/7", "/{table}/_update/{id}"},
                                      Case{"/pq/products/search", "/pq/{table}/search"},
                                      Case{"/web/_search", ""},  // a table of another dialect
                                      Case{"/nosuch/_search", ""},
                                      Case{"/pq/nosuch/search", ""},
                                      Case{"/products/_search/", "/{table}/_search"},
                                      Case{"/_search/", "/_search"},
                                      Case{"/products/_update/7/", "/{table}/_update/{id}"},
                                      Case{"/products/_search//", ""},
                                      Case{"/search/", ""},
                                      Case{"/pq/products/search/", ""},
                                      Case{"/nosuch/_search/", ""},
                                      Case{"/products%00/_search", ""},
                                      Case{"/products", ""},
                                      Case{"/products/", ""}}) {
    const auto* served = topology->endpoint_at(path);
    EXPECT_EQ(served == nullptr ? std::string_view() : served->endpoint.path, pattern) << path;
  }
  EXPECT_NE(topology->pattern_of("/nosuch/_search"), nullptr);
  EXPECT_NE(topology->pattern_of("/nosuch/_search/"), nullptr);
  EXPECT_EQ(topology->pattern_of("/nosuch/_find"), nullptr);
  using enum TicketClass;
  EXPECT_EQ(ticket_class_of(*topology, "/products/_update/7"), update);
  EXPECT_EQ(ticket_class_of(*topology, "/products/_search"), search);
  EXPECT_EQ(ticket_class_of(*topology, "/nosuch/_search"), std::nullopt);  // the route decides
}

TEST(PathPatterns, OfADialectWithoutTablesAreNotServed) {
  Built built;
  built.known = kPatternDialects;
  const auto topology = built.build(
      "table web { type = distributed\n agent = a:2\n dialect = http\n route = /web\n }\n");
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->endpoint_at("/_all/_search"), nullptr);
  EXPECT_EQ(topology->endpoint_at("/_search"), nullptr) << "other engines have it too";
  EXPECT_EQ(topology->pattern_of("/_all/_search"), nullptr);
  EXPECT_NE(topology->endpoint_at("/search"), nullptr);
}

TEST(PathPatterns, OfATableThatTakePathsOfARouteAreNamed) {
  const auto loaded = load_text(
      "table products { type = distributed\n agent = a:1\n }\n"
      "table web { type = distributed\n agent = a:2\n dialect = http\n route = /products/x\n }\n");
  ASSERT_TRUE(loaded.settings);
  Problems problems;
  Problems notices;
  judge_with(kPatternDialects)(*loaded.settings, problems, notices);
  EXPECT_TRUE(problems.empty());
  ASSERT_FALSE(notices.empty());
  EXPECT_EQ(notices.back().message,
            "paths such as '/products/_search' are answered by table products, not by this route");
}

TEST(PathPatterns, ASharedPathIsARouteOnlyWithoutATableOfTheDialect) {
  const std::string routed =
      "table web { type = distributed\n agent = a:2\n dialect = http\n route = /_search\n }\n";
  const auto problems_of = [](const std::string& text) {
    const auto loaded = load_text(text);
    Problems problems;
    Problems notices;
    judge_with(kPatternDialects)(*loaded.settings, problems, notices);
    return problems.empty() ? std::string() : problems.front().message;
  };
  EXPECT_EQ(problems_of(routed), "");
  EXPECT_EQ(problems_of("table t { type = distributed\n agent = a:1\n }\n" + routed),
            "karmad answers '/_search' itself; a route needs another path");
}

}  // namespace
}  // namespace karmad
