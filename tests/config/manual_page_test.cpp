#include "config/manual_page.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "config/agent_line.hpp"
#include "config/settings/keys.hpp"

namespace karmad {
namespace {

TEST(ManualPage, HasEveryKeyAndEveryOptionOfAnAgentLine) {
  const auto page = configuration_manual_page();
  for (const auto& key : searchd_keys())
    EXPECT_TRUE(page.contains(fmt::format(".TP\n.B {}\n", key.name))) << key.name;
  for (const auto& key : table_keys())
    EXPECT_TRUE(page.contains(fmt::format(".TP\n.B {}\n", key.name))) << key.name;
  for (const auto names : {mirror_option_names(), line_option_names()})
    EXPECT_TRUE(page.contains(fmt::format("{}", fmt::join(names, ", "))));
}

TEST(ManualPage, IsAsciiWithoutStrayMarkdown) {
  const auto page = configuration_manual_page();
  EXPECT_EQ(page.find_first_of("`\t"), std::string::npos);
  for (const char c : page) ASSERT_LT(static_cast<unsigned char>(c), 0x7F);
}

}  // namespace
}  // namespace karmad
