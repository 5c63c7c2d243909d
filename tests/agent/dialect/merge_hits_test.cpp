#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>

#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

TEST(MergedAnswer, OrdersByScoreThenIdWhenNothingElseIsSaid) {
  EXPECT_EQ(
      Searching().merged(
          R"({"table":"t","limit":3})",
          {answer(2, R"({"_id":5,"_score":900,"_source":{"a":1}},{"_id":9,"_score":7})"),
           answer(3, R"({"_id":2,"_score":1000},{"_id":4,"_score":900},{"_id":1,"_score":1})")}),
      whole(5, R"({"_id":2,"_score":1000},{"_id":4,"_score":900},)"
               R"({"_id":5,"_score":900,"_source":{"a":1}})"));
}

/// Processor time of this thread, which a busy machine does not change much.
std::chrono::nanoseconds worked() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST(MergedAnswer, CostsNoMoreForIdsThatWereChosenToCollide) {
  constexpr std::size_t kHits = 30'000;
  const auto took = [](bool colliding) {
    const auto mask = std::bit_ceil(kHits * 2 + 2) - 1;
    std::string hits;
    for (std::size_t i = 0, found = 0; found < kHits; ++i) {
      const auto id = std::to_string(1'000'000 + i);
      if (colliding && (std::hash<std::string_view>{}(id)&mask) > mask / 256) continue;
      hits += (found++ == 0 ? R"({"_id":)" : R"(,{"_id":)") + id + R"(,"_score":1})";
    }
    const auto shard = answer(kHits, hits);
    const auto began = worked();
    const auto merged = Searching().merged(R"({"table":"t","limit":30000,"max_matches":30000})",
                                           {shard, answer(0, "")});
    EXPECT_EQ(std::ranges::count(merged, '{'), std::ptrdiff_t{kHits} + 2) << merged.substr(0, 200);
    return worked() - began;
  };
  took(false);                              // warms up
  EXPECT_LT(took(true), 10 * took(false));  // it was 70 times as much
}

TEST(MergedAnswer, KeepsTheBytesOfAHitAsTheyAre) {
  const std::string hit =
      R"({ "_id" : 18446744073709551615,"_score":1,"_source":{"x":1.2300,"u":"\u00e9","d":{"x":[]}, "x":2}, "highlight":{"t":["<b>\"</b>"]}})";
  EXPECT_EQ(Searching().merged(R"({"table":"t"})", {answer(1, hit), answer(0, "")}), whole(1, hit));
}

TEST(MergedAnswer, TakesOutAgainWhatOnlyTheOrderNeeded) {
  const Searching searching;
  // Also where the server names a sort attribute twice.
  const std::vector<std::string> answers{
      answer(1,
             R"({"_id":1,"_score":1,"_source":{"price":3,"brand":"a","price":3},"highlight":{}})"),
      answer(1, R"({"_id":2,"_score":1,"_source":{ "price" : 2 }})")};
  EXPECT_EQ(searching.merged(R"({"table":"t","sort":"price","_source":["brand"]})", answers),
            whole(2, R"({"_id":2,"_score":1,"_source":{}},)"
                     R"({"_id":1,"_score":1,"_source":{"brand":"a"},"highlight":{}})"));
  EXPECT_EQ(searching.merged(R"({"table":"t","sort":"price","_source":{"excludes":["p*"]}})",
                             {answer(1, R"({"_id":1,"_source":{"a":1,"price":3,"pet":2,"z":0}})"),
                              answer(0, "")}),
            whole(1, R"({"_id":1,"_source":{"a":1,"z":0}})"));
  EXPECT_EQ(
      searching.merged(R"({"table":"t","sort":"price"})", answers),
      whole(2,
            R"({"_id":2,"_score":1,"_source":{ "price" : 2 }},)"
            R"({"_id":1,"_score":1,"_source":{"price":3,"brand":"a","price":3},"highlight":{}})"));
}

TEST(MergedAnswer, ComparesNumbersExactly) {
  // Neighbours beyond 2^53, where a double sees no difference, and integers among doubles.
  const auto merged = [](std::string_view order) {
    return Searching().merged(
        R"({"table":"t","sort":[{"n":")" + std::string(order) + R"("}]})",
        {answer(
             3,
             order == "asc"
                 ? R"({"_id":1,"_source":{"n":-9223372036854775807}},{"_id":2,"_source":{"n":9007199254740993}},{"_id":3,"_source":{"n":18446744073709551615}})"
                 : R"({"_id":3,"_source":{"n":18446744073709551615}},{"_id":2,"_source":{"n":9007199254740993}},{"_id":1,"_source":{"n":-9223372036854775807}})"),
         answer(
             3,
             order == "asc"
                 ? R"({"_id":4,"_source":{"n":-1.5e0}},{"_id":5,"_source":{"n":9007199254740992.0}},{"_id":6,"_source":{"n":9007199254740994}})"
                 : R"({"_id":6,"_source":{"n":9007199254740994}},{"_id":5,"_source":{"n":9007199254740992.0}},{"_id":4,"_source":{"n":-1.5e0}})")});
  };
  const auto ids = [](const std::string& text) {
    std::string found;
    for (auto at = text.find("_id\":"); at != text.npos; at = text.find("_id\":", at + 1))
      found += text[at + 5];
    return found;
  };
  EXPECT_EQ(ids(merged("asc")), "145263");
  EXPECT_EQ(ids(merged("desc")), "362541");
}

TEST(MergedAnswer, ComparesStringsInTheCollation) {
  const std::string request = R"({"table":"t","sort":["brand"],"limit":9})";
  const auto hit = [](int id, std::string_view brand) {
    return R"({"_id":)" + std::to_string(id) + R"(,"_source":{"brand":")" + std::string(brand) +
           R"("}})";
  };
  const auto folded =
      std::vector{answer(2, hit(1, "Acme") + "," + hit(2, "zebra")),
                  answer(3, hit(3, R"(\u0061cme)") + "," + hit(4, "Beta") + "," + hit(5, "Zeal"))};
  EXPECT_EQ(Searching({.collation = Collation::libc_ci}).merged(request, folded),
            whole(5, hit(1, "Acme") + "," + hit(3, R"(\u0061cme)") + "," + hit(4, "Beta") + "," +
                         hit(5, "Zeal") + "," + hit(2, "zebra")));
  const auto bytes =
      std::vector{answer(2, hit(1, "Acme") + "," + hit(2, "zebra")),
                  answer(3, hit(4, "Beta") + "," + hit(5, "Zeal") + "," + hit(3, R"(\u0061cme)"))};
  for (const auto collation : {Collation::libc_cs, Collation::binary})
    EXPECT_EQ(Searching({.collation = collation}).merged(request, bytes),
              whole(5, hit(1, "Acme") + "," + hit(4, "Beta") + "," + hit(5, "Zeal") + "," +
                           hit(3, R"(\u0061cme)") + "," + hit(2, "zebra")));
}

TEST(MergedAnswer, PutsNumericIdsBeforeStrings) {
  EXPECT_EQ(Searching().merged(R"({"table":"t","sort":["id"]})",
                               {answer(1, R"({"_id":"10"})"), answer(1, R"({"_id":99})")}),
            whole(2, R"({"_id":99},{"_id":"10"})"));
}

TEST(MergedAnswer, PutsWhatLacksTheAttributeFirstAscendingAndLastDescending) {
  const std::vector<std::string> answers{answer(1, R"({"_id":1,"_source":{"meta":{"n":5}}})"),
                                         answer(1, R"({"_id":2,"_source":{}})")};
  EXPECT_EQ(Searching().merged(R"({"table":"t","sort":[{"meta.n":"asc"}]})", answers),
            whole(2, R"({"_id":2,"_source":{}},{"_id":1,"_source":{"meta":{"n":5}}})"));
  EXPECT_EQ(Searching().merged(R"({"table":"t","sort":[{"meta.n":"desc"}]})", answers),
            whole(2, R"({"_id":1,"_source":{"meta":{"n":5}}},{"_id":2,"_source":{}})"));
}

TEST(MergedAnswer, OrdersWhatStandsInsideAJsonAttributeAsText) {
  const auto hit = [](int id, std::string_view meta) {
    return R"({"_id":)" + std::to_string(id) + R"(,"_source":{"meta":)" + std::string(meta) + "}}";
  };
  // As a server of all documents has them: 10, 11, 50, 6, 9.
  const std::vector numbers{
      answer(3, hit(1, R"({"n":10})") + "," + hit(3, R"({"n":50})") + "," + hit(5, R"({"n":9})")),
      answer(2, hit(2, R"({"n":11})") + "," + hit(4, R"({"n":6})"))};
  for (const auto* key : {"meta.n", "meta['n']", "META.n"})
    EXPECT_EQ(
        Searching().merged(R"({"table":"t","sort":[")" + std::string(key) + R"("]})", numbers),
        whole(5, hit(1, R"({"n":10})") + "," + hit(2, R"({"n":11})") + "," + hit(3, R"({"n":50})") +
                     "," + hit(4, R"({"n":6})") + "," + hit(5, R"({"n":9})")));
  // A member differs by case, and what it says is in the collation.
  const std::vector texts{
      answer(2, hit(1, R"({"c":"blue","C":9})") + "," + hit(4, R"({"c":"Red"})")),
      answer(3, hit(2, R"({"C":"a"})") + "," + hit(3, R"({"c":null})") + "," +
                    hit(5, R"({"c":"\u0072ed"})"))};
  EXPECT_EQ(Searching().merged(R"({"table":"t","sort":["meta.c"],"limit":5})", texts),
            whole(5, hit(2, R"({"C":"a"})") + "," + hit(3, R"({"c":null})") + "," +
                         hit(1, R"({"c":"blue","C":9})") + "," + hit(4, R"({"c":"Red"})") + "," +
                         hit(5, R"({"c":"\u0072ed"})")));
}

TEST(MergedAnswer, HidesTheJsonAttributeThatOnlyTheOrderNeeded) {
  EXPECT_EQ(
      Searching().merged(
          R"({"table":"t","sort":[{"meta.n":"desc"}],"_source":["a"]})",
          {answer(1, R"({"_id":1,"_source":{"a":1,"meta":{"n":8}}})"),
           answer(2,
                  R"({"_id":2,"_source":{"meta":{"n":9.5},"a":2}},{"_id":3,"_source":{"a":3}})")}),
      whole(3, R"({"_id":2,"_source":{"a":2}},{"_id":1,"_source":{"a":1}},)"
               R"({"_id":3,"_source":{"a":3}})"));
}

TEST(MergedAnswer, OrdersIdsAsTheSignedNumbersThatServersStore) {
  const std::string least = R"({"_id":9223372036854775808})";
  const std::string below_zero = R"({"_id":18446744073709551615})";
  const std::string greatest = R"({"_id":9223372036854775807})";
  EXPECT_EQ(Searching().merged(
                R"({"table":"t","sort":["id"]})",
                {answer(2, least + R"(,{"_id":1})"), answer(2, below_zero + "," + greatest)}),
            whole(4, least + "," + below_zero + R"(,{"_id":1},)" + greatest));
}

TEST(MergedAnswer, HidesAnAttributeInTheSpellingThatTheClientDidNotAskFor) {
  const std::vector<std::string> answers{answer(1, R"({"_id":1,"_source":{"price":3,"b":0}})"),
                                         answer(1, R"({"_id":2,"_source":{"price":2,"b":0}})")};
  EXPECT_EQ(Searching().merged(R"({"table":"t","sort":"PRICE","_source":["b"]})", answers),
            whole(2, R"({"_id":2,"_source":{"b":0}},{"_id":1,"_source":{"b":0}})"));
}

TEST(MergedAnswer, HasNullWhereAShardShowsNoFiniteNumberAndOrdersByIt) {
  const std::vector<std::string> answers{
      answer(2, R"({"_id":1,"_source":{"x":inf,"t":"\\\"inf,nan:inf","y":[nan, 1]}},)"
                R"({"_id":2,"_source":{"x":1,"y":21e999}})"),
      answer(2, R"({"_id":3,"_source":{"x":2}},{"_id":4,"_source":{"x":-inf}})")};
  EXPECT_EQ(Searching().merged(R"({"table":"t","sort":[{"x":"desc"}]})", answers),
            whole(4, R"({"_id":1,"_source":{"x":null,"t":"\\\"inf,nan:inf","y":[null, 1]}},)"
                     R"({"_id":3,"_source":{"x":2}},{"_id":2,"_source":{"x":1,"y":21e999}},)"
                     R"({"_id":4,"_source":{"x":null}})"));
}

TEST(MergedAnswer, ReadsAMemberThatIsCalledAsThePathOnlyIfItIsAnExpression) {
  const std::vector<std::string> answers{
      answer(1, R"({"_id":1,"_source":{"meta.n":10,"meta":{"n":3}}})"),
      answer(1, R"({"_id":2,"_source":{"meta.n":9,"meta":{"n":4}}})")};
  const auto* const first = R"({"_id":1,"_source":{"meta.n":10,"meta":{"n":3}}})";
  const auto* const second = R"({"_id":2,"_source":{"meta.n":9,"meta":{"n":4}}})";
  EXPECT_EQ(Searching().merged(R"({"table":"t","sort":["meta.n"]})", answers),
            whole(2, std::string(first) + "," + second));
  const auto* const named = R"({"table":"t","sort":["meta.n"],"expressions":{"meta.n":"price"}})";
  EXPECT_EQ(Searching().merged(named, answers), whole(2, std::string(second) + "," + first));
}

TEST(MergedAnswer, FollowsAShardWhereItsHitsTieAsFarAsTheyAreShown) {
  // Two real numbers that print alike: the shard knows which is the lower, whatever the ids say.
  const auto hit = [](int id) {
    return R"({"_id":)" + std::to_string(id) + R"(,"_source":{"x":0.100000}})";
  };
  EXPECT_EQ(Searching().merged(R"({"table":"t","sort":["x"]})",
                               {answer(3, hit(7) + "," + hit(3) + "," + hit(9)),
                                answer(2, hit(8) + "," + hit(4))}),
            whole(5, hit(7) + "," + hit(3) + "," + hit(8) + "," + hit(4) + "," + hit(9)));
}

TEST(MergedAnswer, ShowsADocumentOnceTheLastShardsCopy) {
  // X: duplicates by id, last shard wins, the total reduced by those met.
  EXPECT_EQ(Searching().merged(R"({"table":"t","sort":["id"],"limit":3})",
                               {answer(2, R"({"_id":1,"from":"a"},{"_id":150,"from":"a"})"),
                                answer(2, R"({"_id":150,"from":"b"},{"_id":151,"from":"b"})")}),
            whole(3, R"({"_id":1,"from":"a"},{"_id":150,"from":"b"},{"_id":151,"from":"b"})"));
}

TEST(MergedAnswer, OfDifferentCopiesTheBetterPlacedStays) {
  EXPECT_EQ(Searching().merged(R"({"table":"t","limit":5})",
                               {answer(2, R"({"_id":7,"_score":9},{"_id":8,"_score":1})"),
                                answer(1, R"({"_id":7,"_score":5})")}),
            whole(2, R"({"_id":7,"_score":9},{"_id":8,"_score":1})"));
}

TEST(MergedAnswer, SumsWhatTheShardsSayAndPassesTheirWarningsOn) {
  const std::string shard =
      R"({"took":9,"timed_out":true,"warning":{"reason":"slow \"x\""},"hits":{"total":3,"total_relation":"gte","hits":[]}})";
  EXPECT_EQ(
      Searching().merged(R"({"table":"t"})", {answer(4, ""), shard},
                         {.took = 12'999us, .timed_out = false, .warning = "table t: \xFF\n"}),
      R"({"took":12,"timed_out":true,"warning":{"reason":"table t: )"
      "\xEF\xBF\xBD"
      R"(\n;\nshard 2: slow \"x\""},"hits":{"total":7,"total_relation":"gte","hits":[]}})");
}

TEST(MergedAnswer, HasNoTotalBeyondTheLargestNumber) {
  const auto of = [](std::uint64_t total) {
    return fmt::format(R"({{"hits":{{"total":{},"total_relation":"eq","hits":[]}}}})", total);
  };
  EXPECT_TRUE(Searching()
                  .merged(R"({"table":"t"})", {of(~0ull), of(7), of(9)})
                  .contains(R"("total":18446744073709551615)"));
}

TEST(MergedAnswer, IsMadeOfTheShardsThatAnswered) {
  EXPECT_EQ(Searching().merged(R"({"table":"t"})", {"", answer(1, R"({"_id":1,"_score":1})")},
                               {.timed_out = true, .warning = "shard 1 is gone"}),
            R"({"took":0,"timed_out":true,"warning":{"reason":"shard 1 is gone"},"hits":)"
            R"({"total":1,"total_relation":"eq","hits":[{"_id":1,"_score":1}]}})");
}

TEST(MergedAnswer, ToleratesRowsWithoutAnId) {
  EXPECT_EQ(Searching().merged(R"({"table":"t","sort":["c"]})",
                               {answer(1, R"({"_score":1,"_source":{"c":4}})"),
                                answer(1, R"({"_score":1,"_source":{"c":4}})")}),
            whole(2, R"({"_score":1,"_source":{"c":4}},{"_score":1,"_source":{"c":4}})"));
}

TEST(MergedAnswer, LooksOnlyAtTheHitsItNeeds) {
  const auto far = answer(9, R"({"_id":1,"_score":9},{"_id":2,"_score":8},{"_id":3,garbage)");
  EXPECT_EQ(Searching().merged(R"({"table":"t","limit":1})", {far, answer(0, "")}),
            whole(9, R"({"_id":1,"_score":9})"));
}

TEST(MergedAnswer, NamesTheShardItCannotUnderstand) {
  const auto good = answer(1, R"({"_id":1,"_score":9})");
  const struct {
    std::string bad;
    std::string_view reason;
  } cases[] = {
      {"garbage", "does not end"},
      {"{}", "has no hits"},
      {R"({"hits":{"hits":[]}})", "no hits.total"},
      {R"({"hits":{"total":-1,"hits":[]}})", "hits.total is not a count"},
      {R"({"hits":{"total":1,"hits":{}}})", "not an array"},
      {R"({"took":1,"hits":[]})", "no hits.total"},
      {answer(1, R"({"_id":2,"_score":9]})"), "a hit is malformed"},
      {answer(1, R"({"_id":2 "_score":9})"), "a hit is malformed"},
      {answer(1, R"({"_id":2,"_score":99} {"_id":3})"), "a hit is malformed"},
      {answer(1, "7"), "a hit is malformed"},
      {answer(1, R"({"_id":{"a":"b"},"_score":9})"), "a hit is malformed"},
      {answer(1, R"({"_score":9,"_id":["7"]})"), "a hit is malformed"},
  };
  for (const auto& c : cases) {
    const auto merged = Searching().merged(R"({"table":"t"})", {good, c.bad});
    EXPECT_TRUE(merged.starts_with("bad shard 1: ")) << merged << c.bad;
    EXPECT_NE(merged.find(c.reason), std::string::npos) << merged;
  }
}

}  // namespace
}  // namespace karmad
