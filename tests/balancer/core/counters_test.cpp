#include "balancer/core/counters.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace karmad {
namespace {

TEST(Counters, AreDocumentedWithTheirHelp) {
  std::ostringstream docs;
  docs << std::ifstream(KARMAD_SOURCE_DIR "/docs/status.md").rdbuf();
  for (const auto& [count, stat] : kCountStats) {
    const auto name = stat.row_key();
    const auto help = stat.help;
    EXPECT_FALSE(name.empty() || help.empty());
    EXPECT_NE(docs.str().find("| `" + std::string(name) + "` |"), std::string::npos) << name;
    if (name != "connections") {
      EXPECT_NE(docs.str().find(help), std::string::npos) << help;
    }
  }
}

TEST(Counters, GaugesAreDocumentedToo) {  // SS-113
  std::ostringstream docs;
  docs << std::ifstream(KARMAD_SOURCE_DIR "/docs/status.md").rdbuf();
  for (const std::string name : {"selections_waiting", "connections_open", "admin_connections_open",
                                 "event_streams", "access_log_written", "access_log_dropped"})
    EXPECT_NE(docs.str().find("| `" + name + "` |"), std::string::npos) << name;
}

TEST(Counters, AreReadByTheirPlace) {
  Counters counters;
  counters.add(Count::queries);
  counters.add(Count::bytes_out, 41);
  counters.add(Count::bytes_out);
  EXPECT_EQ(counters[static_cast<std::size_t>(Count::queries)], 1u);
  EXPECT_EQ(counters[static_cast<std::size_t>(Count::bytes_out)], 42u);
  EXPECT_EQ(stat(Count::bytes_out).name, "bytes_out");
}

}  // namespace
}  // namespace karmad
