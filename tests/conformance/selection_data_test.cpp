#include <gtest/gtest.h>

#include "tests/conformance/json_files.hpp"

namespace karmad::conformance {
namespace {

std::vector<std::string> missing() {
  return data_present() ? std::vector<std::string>{}
                        : std::vector<std::string>{data_directory().string()};
}

/// Exists only where the data does not: the folder may be left out for its licence.
class Data : public ::testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Data);
INSTANTIATE_TEST_SUITE_P(, Data, ::testing::ValuesIn(missing()),
                         [](const auto&) { return std::string("IsAbsent"); });

TEST_P(Data, Skipped) {
  GTEST_SKIP() << "skipped, no data: there is no folder mongodb in " << GetParam()
               << "; KARMAD_CONFORMANCE_DIR names another";
}

}  // namespace
}  // namespace karmad::conformance
