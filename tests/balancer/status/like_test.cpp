#include "balancer/status/rows/like.hpp"

#include <gtest/gtest.h>

#include <string>

namespace karmad {
namespace {

TEST(Like, MatchesAnyRunAnyOneAndTheEscapedItself) {
  const struct {
    std::string_view text;
    std::string_view pattern;
    bool matches;
  } cases[] = {
      {"ag_0_errorsarow", "%errorsarow%", true},
      {"ag_0_errorsarow", "%errorsarow", true},
      {"ag_0_errorsarow", "errorsarow%", false},
      {"ag_0_errorsarow", "ag_0_errorsarow", true},
      {"ag_0_errorsarow", "AG_0_ErrorsARow", true},
      {"ag_10_ping", "ag_1_ping", false},
      {"ag_1_ping", "ag___ping", true},
      {"ag_1_ping", "ag____ping", false},
      {"dist_wall", "dist%", true},
      {"distance", "dist\\_%", false},
      {"dist_wall", "dist\\_%", true},
      {"50%", "50\\%", true},
      {"50x", "50\\%", false},
      {"a\\b", "a\\\\b", true},
      {"a\\", "a\\", true},
      {"", "", true},
      {"", "%", true},
      {"", "%%", true},
      {"", "_", false},
      {"a", "", false},
      {"abcabcabd", "%abcabd", true},
      {"abcabcabe", "%abcabd", false},
      {"mississippi", "m%iss%ip%i", true},
      {"mississippi", "m%iss%iss%iss%i", false},
  };
  for (const auto& c : cases)
    EXPECT_EQ(is_like(c.text, c.pattern), c.matches) << c.text << " like " << c.pattern;
}

// With exponential backtracking this would not end.
TEST(Like, DoesNotTryAllTheWaysToSplitAText) {
  std::string pattern;
  for (int i = 0; i < 300; ++i) pattern += "%a";
  EXPECT_FALSE(is_like(std::string(2000, 'a'), pattern + "b"));
  EXPECT_TRUE(is_like(std::string(2000, 'a'), pattern));
}

}  // namespace
}  // namespace karmad
