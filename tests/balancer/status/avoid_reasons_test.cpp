#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "strategies/select.hpp"

namespace karmad {
namespace {

TEST(AvoidReasons, EachHasItsRowInTheManual) {
  std::stringstream page;
  page << std::ifstream(KARMAD_SOURCE_DIR "/docs/avoid-reasons.md").rdbuf();
  for (const auto text : kAvoidReasonTexts)
    EXPECT_NE(page.str().find("| " + std::string(text) + " |"), std::string::npos) << text;
}

}  // namespace
}  // namespace karmad
