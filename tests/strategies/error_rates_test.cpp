#include "strategies/mirror_view.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

TEST(ErrorRates, CountCriticalOutcomesAndWarningsAmongAll) {  // HA-023
  const auto rates = error_rates(70, 10, 20);
  EXPECT_TRUE(rates.had_success());
  EXPECT_FLOAT_EQ(rates.critical, 0.2F);
  EXPECT_FLOAT_EQ(rates.errors, 0.3F);
}

TEST(ErrorRates, ThreePercentCountAsNone) {  // HA-023
  struct Case {
    std::uint64_t successes, warnings, critical;
    bool critical_shows, errors_show;
  };
  for (const auto& c :
       {Case{97, 0, 3, false, false}, Case{96, 0, 4, true, true}, Case{9'699, 0, 301, true, true},
        Case{9'700, 0, 300, false, false}, Case{97, 3, 0, false, false},
        Case{96, 4, 0, false, true}, Case{96, 2, 2, false, true}}) {
    const auto rates = error_rates(c.successes, c.warnings, c.critical);
    EXPECT_EQ(rates.critical > 0, c.critical_shows) << c.successes << " successes";
    EXPECT_EQ(rates.errors > 0, c.errors_show) << c.successes << " successes";
  }
}

TEST(ErrorRates, WithoutSuccessAreWorseThanAnyRate) {
  const auto failing = error_rates(1, 0, 1'000'000);
  for (const auto& none : {error_rates(0, 0, 0), error_rates(0, 5, 0), error_rates(0, 0, 5)}) {
    EXPECT_FALSE(none.had_success());
    EXPECT_LT(failing.rank(), none.rank());
    EXPECT_EQ(none, ErrorRates{});
  }
}

TEST(ErrorRates, AreComparedByCriticalOutcomesFirst) {
  EXPECT_LT(error_rates(50, 45, 5).rank(), error_rates(90, 0, 10).rank());
  EXPECT_LT(error_rates(90, 0, 10).rank(), error_rates(80, 10, 10).rank());
}

}  // namespace
}  // namespace karmad
