#include "agent/transport/http/http_syntax.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace karmad::wire {
namespace {

/// One letter after the other.
bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

TEST(SameWord, EqualsAComparisonLetterByLetter) {
  std::mt19937 random(3);
  constexpr std::string_view bytes = "aAzZ@[`{-09\x80\xC1\xE1";
  int same = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string a(random() % 20, ' ');
    for (auto& c : a) c = bytes[random() % bytes.size()];
    auto b = a;
    for (auto changes = random() % 3; changes > 0 && !b.empty(); --changes) {
      auto& c = b[random() % b.size()];
      c = random() % 4 == 0 ? bytes[random() % bytes.size()] : static_cast<char>(c ^ 0x20);
    }
    if (random() % 50 == 0 && !b.empty()) b.pop_back();
    ASSERT_EQ(same_word(a, b), same_letters(a, b)) << a << " " << b;
    same += same_word(a, b) ? 1 : 0;
  }
  EXPECT_GT(same, 50'000);
}

}  // namespace
}  // namespace karmad::wire
