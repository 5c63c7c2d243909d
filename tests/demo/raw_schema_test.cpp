#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <string_view>

#include "tests/demo/shop.hpp"

namespace karmad::demo {
namespace {

/// The columns of each result set as `name:type`, sets divided by `|`.
std::string columns_of(std::string_view statement) {
  const auto body = post(whole_shop(), "/sql", std::string(statement), "mode=raw").body;
  static const std::regex column(R"re("([^"]+)":\{"type":"([^"]+)"\}|"data")re");
  std::string out;
  for (std::sregex_iterator it(body.begin(), body.end(), column), end; it != end; ++it)
    out += (*it)[1].matched ? (*it)[1].str() + ":" + (*it)[2].str() + " " : std::string("|");
  return out;
}

/// As one real server answers, with the columns of this table for its own.
TEST(RawSchema, IsWhatASelectOfNothingLists) {
  constexpr std::string_view cases[][2] = {
      {"SELECT id, title, brand FROM products WHERE price=0",
       "id:long long title:string brand:string |"},
      {"SELECT title FROM products WHERE price=0", "id:long long title:string |"},
      {"SELECT price FROM products WHERE price=0 ORDER BY rating DESC",
       "price:long rating:float |"},
      {"SELECT *, weight() AS karmad_0 FROM products WHERE price=0",
       "id:long long price:long rating:float brand:string seller:string tags:multi meta:json "
       "ts:long stock:long long weight:float lat:float lon:float embedding:string "
       "karmad_0:long long title:string body:string |"},
      {"SELECT brand, COUNT(*) c FROM products WHERE price=0 GROUP BY brand",
       "brand:string @groupby:long long @count:long long |"},
      {"SELECT brand, COUNT(*) AS c, weight() AS karmad_0, GROUPBY() AS karmad_1 FROM products "
       "WHERE price=0 GROUP BY brand",
       "brand:string karmad_0:long long @groupby:long long @count:long long |"},
      {"SELECT COUNT(*) FROM products WHERE price=0 GROUP BY brand",
       "@groupby:long long @count:long long brand:string |"},
      {"SELECT rating, COUNT(DISTINCT brand) AS d FROM products WHERE price=0 GROUP BY rating "
       "WITHIN GROUP ORDER BY id ASC",
       "id:long long rating:float @groupby:long long @count:long long @distinct:long "
       "brand:string |"},
      {"SELECT meta.color, COUNT(*) FROM products WHERE price=0 GROUP BY meta.color",
       "meta.color:string @groupby:long long @count:long long @groupbystr_meta.color:string |"},
      {"SELECT AVG(price) FROM products WHERE price=0",
       "avg(price):double @groupby:long long @count:long long |"},
      {"SELECT id FROM products WHERE price=0 FACET brand FACET tags",
       "id:long long brand:string tags:multi @groupby:long long @count:long long |"
       "id:long long brand:string tags:multi @groupby:long long @count:long long |"
       "id:long long brand:string tags:multi @groupby:long long @count:long long |"},
      // Documents were found, or the row says that there are none.
      {"SELECT brand, COUNT(*) c FROM products GROUP BY brand HAVING c<0",
       "brand:string c:long long |"},
      {"SELECT title FROM products ORDER BY price ASC LIMIT 0", "title:string |"},
      {"SELECT COUNT(*), MIN(price) FROM products WHERE price=0",
       "count(*):long long min(price):long |"},
  };
  for (const auto& [statement, columns] : cases)
    EXPECT_EQ(columns_of(statement), columns) << statement;
}

TEST(RawSchema, ShowsInNoHits) {
  const auto& shop = whole_shop();
  const std::string_view nothing = R"("hits":{"total":0,"total_relation":"eq","hits":[]})";
  for (const std::string_view list : {"*", "COUNT(*)", "MIN(price)", "COUNT(DISTINCT brand)"}) {
    const auto answer =
        post(shop, "/sql", "SELECT " + std::string(list) + " FROM products WHERE price=0");
    EXPECT_NE(answer.body.find(nothing), std::string::npos) << list << answer.body;
  }
}

}  // namespace
}  // namespace karmad::demo
