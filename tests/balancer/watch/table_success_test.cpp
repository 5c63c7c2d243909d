#include "balancer/watch/mirror_watch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace karmad {
namespace {

using namespace std::chrono_literals;

class Watched {
 public:
  /// Half a second in which so many queries get these codes.
  void pass(const std::vector<std::pair<int, std::uint64_t>>& queries) {
    for (const auto& [code, count] : queries)
      totals_.responses[static_cast<std::size_t>(std::ranges::find(kCountedCodes, code) -
                                                 kCountedCodes.begin())] += count;
    now_ += 500ms;
    success_.observe(totals_, now_);
  }
  std::string trouble() const { return success_.trouble(); }

 private:
  TableTotals totals_;
  TableSuccess success_;
  TimePoint now_{1h};
};

TEST(TableSuccess, IsWellWithoutQueriesAndWithFewFailures) {
  Watched table;
  EXPECT_EQ(table.trouble(), "");
  table.pass({{200, 1000}});
  table.pass({});
  EXPECT_EQ(table.trouble(), "");
  table.pass({{200, 1}, {502, 80}, {400, 10}});
  EXPECT_EQ(table.trouble(), "") << "one succeeded";
  table.pass({{502, 4}});
  EXPECT_EQ(table.trouble(), "");
}

TEST(TableSuccess, TakesAChangeOfTheProtocolForASuccess) {
  Watched table;
  table.pass({});
  table.pass({{101, 20}});
  EXPECT_EQ(table.trouble(), "");
}

TEST(TableSuccess, SaysThatNoneSucceededIfFewFailed) {
  for (const int code : {429, 500, 502, 503, 504}) {
    Watched table;
    table.pass({{200, 5}});
    table.pass({{code, 5}, {400, 2}});
    EXPECT_TRUE(table.trouble().starts_with("none of the last 7 queries succeeded: 5 got "))
        << code << ' ' << table.trouble();
  }
}

TEST(TableSuccess, CallsFewMistakesOfClientsNoTrouble) {
  for (const int code : {400, 401, 403, 404, 409, 413}) {
    Watched table;
    table.pass({{200, 1}});
    table.pass({{code, 15}, {502, 4}, {499, 30}});
    EXPECT_EQ(table.trouble(), "") << code;
    table.pass({{code, 1}});
    EXPECT_TRUE(table.trouble().starts_with("none of the last 20 queries succeeded: 16 got "))
        << code << ' ' << table.trouble();
  }
}

TEST(TableSuccess, SaysThatNoneSucceededWhateverTheStatus) {
  Watched table;
  table.pass({});
  for (int i = 0; i < 100; ++i) table.pass({{400, 29}, {502, 1}, {499, 50}});
  EXPECT_EQ(table.trouble(), "none of the last 3000 queries succeeded: 2900 got 400, 100 got 502");
  table.pass({{200, 1}, {400, 12}});
  EXPECT_EQ(table.trouble(),
            "97 % of the last 613 queries were refused as their clients' mistakes: "
            "592 got 400, 20 got 502, 1 got 200");
}

TEST(TableSuccess, SaysThatNearlyAllQueriesAreMistakes) {
  Watched table;
  table.pass({});
  table.pass({{200, 10}, {400, 89}});
  EXPECT_EQ(table.trouble(), "") << "89 of 99";
  table.pass({{400, 1}});
  EXPECT_EQ(table.trouble(),
            "90 % of the last 100 queries were refused as their clients' mistakes: 90 got 400, 10 "
            "got 200");
  for (int i = 0; i < 20; ++i) table.pass({{200, 1}});
  EXPECT_EQ(table.trouble(), "") << "ten seconds later";
}

TEST(TableSuccess, CountsADocumentThatIsNotThereAsNoMistake) {
  Watched table;
  table.pass({});
  table.pass({{404, 1000}, {200, 1}});
  EXPECT_EQ(table.trouble(), "");
}

TEST(TableSuccess, ForgetsAfterAMinuteWithoutQueries) {
  Watched table;
  table.pass({});
  table.pass({{400, 50}});
  for (int i = 0; i < 120; ++i) table.pass({{499, 1}});
  EXPECT_NE(table.trouble(), "");
  table.pass({});
  EXPECT_EQ(table.trouble(), "");
}

TEST(TableSuccess, DoesNotCountWhatWasBeforeItWatched) {
  Watched table;
  table.pass({{400, 5000}});
  EXPECT_EQ(table.trouble(), "");
}

}  // namespace
}  // namespace karmad
