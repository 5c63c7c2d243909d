#include "config/manual_page.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

TEST(Roff, MakesCodeBold) {
  EXPECT_EQ(roff("`a` and `b`"), "\\fBa\\fR and \\fBb\\fR");
  EXPECT_EQ(roff_verbatim("`a`"), "`a`");
}

TEST(Roff, EscapesWhatTheFormatterWouldRead) {
  EXPECT_EQ(roff("--check"), "\\-\\-check");
  EXPECT_EQ(roff("a\\b"), "a\\eb");
  EXPECT_EQ(roff("'tis"), "\\(aqtis");
  EXPECT_EQ(roff_verbatim(".TH x\nand\n.SH y, 1.5"), "\\&.TH x\nand\n\\&.SH y, 1.5");
}

TEST(Roff, NamesOtherCharactersByTheirNumber) {
  EXPECT_EQ(roff("1 … 2 × 😀"), "1 \\[u2026] 2 \\[u00D7] \\[u1F600]");
}

TEST(Roff, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(roff("a\x80"
                 "b\xE2\x80"),
            "a?b?");
  EXPECT_EQ(roff("\xE2x"), "?x");
}

}  // namespace
}  // namespace karmad
