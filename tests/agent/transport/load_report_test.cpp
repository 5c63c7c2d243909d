#include "agent/transport/http/field_values.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

TEST(ReportedLoad, IsTheApplicationUtilizationOrElseThatOfTheProcessor) {
  struct Row {
    std::string_view field;
    std::optional<double> load;
  };
  for (const auto& [field, load] :
       {Row{"cpu_utilization=0.3", 0.3},
        {"TEXT cpu_utilization=0.3, application_utilization=0.6,named_metrics.queue=7", 0.6},
        {"application_utilization=0, cpu_utilization = 0.25", 0.25},
        {"rps_fractional=20, cpu_utilization=1.5", 1.5},
        {R"({"cpu_utilization":0.3,"rps_fractional":20})", 0.3},
        {R"(JSON {"application_utilization": 0.8, "named_metrics": {"queue": 7}})", 0.8},
        {"rps_fractional=20", std::nullopt},
        {"", std::nullopt},
        {"cpu_utilization", std::nullopt},
        {"cpu_utilization=", std::nullopt},
        {"cpu_utilization=nan", std::nullopt},
        {"cpu_utilization=1e9", std::nullopt},
        {"cpu_utilization=-0.1", std::nullopt},
        {"cpu_utilization=0.3x", std::nullopt},
        {R"({"cpu_utilization":"0.3"})", std::nullopt},
        {R"({"cpu_utilization":0.3)", std::nullopt},
        {"[0.3]", std::nullopt},
        {"CgkJMzMzMzMz0z8=", std::nullopt}})
    EXPECT_EQ(reported_load(field), load) << field;
}

}  // namespace
}  // namespace karmad
