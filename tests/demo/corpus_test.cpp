#include "demo/data/corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "demo/data/text.hpp"

namespace karmad::demo {
namespace {

TEST(Corpus, IsTheSameEveryTime) {
  const auto once = invent_corpus(300);
  const auto again = invent_corpus(300);
  ASSERT_EQ(once.size(), 300U);
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].id, again[i].id);
    EXPECT_EQ(once[i].title, again[i].title);
    EXPECT_EQ(once[i].body, again[i].body);
  }
}

TEST(Corpus, HasDistinctIdsInOrderSomeOfWhichADoubleCannotHold) {
  const auto corpus = invent_corpus(4000);
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    EXPECT_TRUE(i == 0 || corpus[i - 1].id < corpus[i].id);
    const auto id = corpus[i].id;
    beyond += id > (std::uint64_t{1} << 53);
  }
  EXPECT_EQ(beyond, 250U);
}

TEST(Corpus, RepeatsPricesRatingsAndBrands) {
  std::map<std::uint32_t, int> prices;
  std::map<float, int> ratings;
  std::map<std::string, int> brands;
  for (const auto& document : invent_corpus(4000)) {
    ++prices[document.price];
    ++ratings[document.rating];
    ++brands[document.brand];
  }
  EXPECT_LE(prices.size(), 500U);
  EXPECT_EQ(ratings.size(), 33U);
  EXPECT_EQ(brands.size(), 12U);
}

TEST(Corpus, HoldsCharactersThatSplicingMustSurvive) {
  std::string all;
  for (const auto& document : invent_corpus(500)) all += document.title + document.body;
  for (const auto* piece : {"\"", "\\", "{", "]", "ß"})
    EXPECT_NE(all.find(piece), std::string::npos) << piece;
}

TEST(Corpus, PartsAreDisjointCompleteAndNotEqual) {
  std::map<std::size_t, std::size_t> sizes;
  for (const auto& document : invent_corpus(4000)) ++sizes[part_of(document.id, 3)];
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_EQ(sizes[0] + sizes[1] + sizes[2], 4000U);
  for (const auto& [part, size] : sizes) EXPECT_GT(size, 1000U) << part;
}

TEST(Corpus, ADocumentIsInTheShardThatTheHashOfItsIdGives) {
  EXPECT_EQ(part_of(1, 1000), 0x5692161d100b05e5 % 1000);
  EXPECT_EQ(part_of(0, 3), 0U);
}

TEST(Text, CollatesWithoutRegardToCaseAndOtherwiseByBytes) {
  struct Case {
    std::string_view a, b;
    int sign;
  };
  for (const auto& [a, b, sign] : {Case{"acme", "ACME", 0}, Case{"a", "B", -1}, Case{"b", "A", 1},
                                   Case{"a", "ab", -1}, Case{"", "", 0}, Case{"z", "ä", -1}}) {
    const auto order = collate(a, b);
    EXPECT_EQ((order > 0) - (order < 0), sign) << a << " " << b;
  }
}

TEST(Text, FitsPatternsWithStarsAndQuestionMarks) {
  struct Case {
    std::string_view pattern, text;
    bool fit;
  };
  for (const auto& [pattern, text, fit] :
       {Case{"*", "price", true}, Case{"p*", "price", true}, Case{"pr*e", "price", true},
        Case{"p?ice", "price", true}, Case{"p", "price", false}, Case{"*x*", "price", false},
        Case{"a*", "price", false}, Case{"price*", "price", true}, Case{"", "price", false},
        Case{"*a*b", "aab", true}})
    EXPECT_EQ(matches_pattern(pattern, text), fit) << pattern;
}

TEST(Text, QuotesForJson) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01ß"), "\"a\\\"b\\\\c\\n\\u0001ß\"");
}

TEST(Text, DecodesQueryStrings) {
  EXPECT_EQ(url_decoded("a%20b+c%2Cd%"), "a b c,d%");
  EXPECT_EQ(url_decoded("%zz%4"), "%zz%4");
}

}  // namespace
}  // namespace karmad::demo
