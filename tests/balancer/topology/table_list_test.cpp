#include "balancer/topology/topology.hpp"

#include <gtest/gtest.h>

#include <array>

namespace karmad {
namespace {

using Found = std::vector<std::size_t>;

constexpr std::array<ListableTable, 4> kListable{
    {{"products", "manticore"}, {"web", "http"}, {"Prices", "manticore"}, {"logs-1", "manticore"}}};

std::expected<Found, ClientError> listed(std::string_view text) {
  return listed_tables(text, kListable, "manticore");
}

TEST(TableList, StandsForTheNamedTablesInItsOrderWithoutDuplicates) {
  struct Case {
    std::string_view text;
    Found found;
  };
  for (const auto& [text, found] :
       {Case{"products,prices", {0, 2}}, Case{" PRICES , products,prices", {2, 0}},
        Case{"*", {0, 2, 3}}, Case{"_all", {0, 2, 3}}, Case{"p*", {0, 2}},
        Case{"logs-1,p*s,", {3, 0, 2}}, Case{"*r*c*,logs*", {0, 2, 3}}}) {
    const auto tables = listed(text);
    ASSERT_TRUE(tables) << text << ": " << tables.error().reason;
    EXPECT_EQ(*tables, found) << text;
  }
}

TEST(TableList, NamesWhatStandsForNoTable) {
  struct Case {
    std::string_view text;
    int status;
    std::string_view reason;
  };
  for (const auto& [text, status, reason] :
       {Case{"products,nosuch", 404, "no table 'nosuch'; the tables are: products, Prices, logs-1"},
        Case{"x*", 404, "no table 'x*'"},
        Case{"products,web", 404, "table 'web' has the dialect http"},
        Case{" , ,", 400, "the list of tables is empty"}}) {
    const auto tables = listed(text);
    ASSERT_FALSE(tables) << text;
    EXPECT_EQ(tables.error().status, status) << text;
    EXPECT_TRUE(tables.error().reason.starts_with(reason)) << tables.error().reason;
  }
  EXPECT_EQ(listed_tables("products,nosuch", kListable, "manticore", false).error().reason,
            "no table 'nosuch'");
  std::string many = "products";
  for (std::size_t i = 0; i < kMaxListedTables; ++i) many += ",products";
  ASSERT_FALSE(listed(many));
  EXPECT_EQ(listed(many).error().status, 400);
}

TEST(TableList, NamesOneTableOfTheDialectAtLeastOrNone) {
  for (const auto* text : {"products", "nosuch,PRODUCTS", "l*", "_all"})
    EXPECT_TRUE(names_any(text, kListable, "manticore")) << text;
  for (const auto* text : {"", "nosuch", "web", "x*", ",", "products2"})
    EXPECT_FALSE(names_any(text, kListable, "manticore")) << text;
}

TEST(TableList, AHostileWildcardTakesLittleTime) {
  const std::string name(200, 'a');
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "a*";
  const std::array<ListableTable, 1> tables{{{name, "manticore"}}};
  EXPECT_FALSE(names_any(pattern + "b", tables, "manticore"));
}

}  // namespace
}  // namespace karmad
