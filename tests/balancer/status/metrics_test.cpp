#include "balancer/status/status_json.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "balancer/admission/admission.hpp"
#include "balancer/status/rows/agent_status.hpp"
#include "balancer/status/snapshot.hpp"
#include "tests/balancer/pipeline/asking.hpp"
#include "tests/balancer/status/sample.hpp"
#include "tests/support/counted_allocations.hpp"

namespace karmad {
namespace {

static_assert(!std::is_constructible_v<StatValue, const char*> &&
                  !std::is_constructible_v<StatValue, std::string> &&
                  !std::is_constructible_v<StatValue, std::string_view>,
              "a number is never a text");

struct MetricsOfAll : testing::Asking {
  /// Two agents and three mirrors with numbers, and all that a worker with admission has.
  Snapshot everything() {
    const auto loaded = load_text(
        "searchd {\n search_tickets = auto\n update_tickets = 3\n ingress_request_rate = 9/s\n}\n");
    admission.emplace(1, loops, 1000, loaded.settings->searchd, Loop::now());
    shared.limits.admission = &*admission;
    auto snapshot = sample_snapshot();
    snapshot.process.counters = collect(worker).process.counters;
    snapshot.process.sources["name search.example"] = {
        .good_at = WallTime{1s}, .failures = 3, .failing = true, .mirrors = 2};
    snapshot.tables[0].requests.emplace();
    snapshot.tables[1].name = "of \"\\\n";
    snapshot.tables[1].requests.emplace();
    TableTally tally(2);
    tally.responded(0, 200, 500us);
    tally.responded(1, 200, 501us);
    tally.responded(1, 418, 31s);
    tally.attempted(0, 2ms);
    snapshot.tables[0].totals = tally.totals();
    return snapshot;
  }
  std::string metrics() {
    std::string text;
    append_metrics(text, everything(),
                   {.cpu = 1500ms,
                    .resident_memory = 1U << 20,
                    .virtual_memory = 1U << 30,
                    .open_fds = 7,
                    .max_fds = 1024});
    return text;
  }
  std::optional<Admission> admission;
};

/// Checks what is true of each number alone, whatever renders it.
class Checker final : public StatsWriter {
 public:
  std::size_t seen = 0;
  std::size_t histograms = 0;

 private:
  void put_histogram(const Stat& stat, const Durations&, std::span<const Label>) override {
    ++histograms;
    EXPECT_TRUE(std::regex_match(std::string(stat.name), std::regex("[a-z_]+"))) << stat.name;
    EXPECT_FALSE(stat.help.empty()) << stat.name;
    EXPECT_EQ(stat.unit, Unit::microseconds) << stat.name;
  }
  void put(const Stat& stat, const StatValue& value, std::span<const Label>) override {
    ++seen;
    EXPECT_TRUE(std::regex_match(std::string(stat.name), std::regex("[a-z_]+"))) << stat.name;
    EXPECT_FALSE(stat.help.empty()) << stat.name;
    const bool is_time = stat.unit == Unit::microseconds || stat.unit == Unit::milliseconds ||
                         stat.unit == Unit::seconds;
    if (std::holds_alternative<Micros>(value.get())) {
      EXPECT_TRUE(is_time) << stat.name;
    }
    EXPECT_EQ(std::holds_alternative<bool>(value.get()), stat.unit == Unit::flag) << stat.name;
    if (stat.unit == Unit::share) {
      EXPECT_TRUE(std::holds_alternative<double>(value.get())) << stat.name;
    }
    for (const auto key : {stat.row_key(), stat.member_key()}) {
      EXPECT_TRUE(!key.ends_with("_ms") || stat.unit == Unit::milliseconds) << key;
      EXPECT_TRUE(!key.ends_with("Micros") || stat.unit == Unit::microseconds) << key;
    }
  }
};

TEST_F(MetricsOfAll, EveryNumberHasAHelpAUnitAndATypeThatGoWithIt) {
  const auto snapshot = everything();
  Checker checker;
  write_begin(checker, snapshot.process);
  write_counters(checker, snapshot.process);
  write_periods(checker, snapshot);
  const auto& agent = snapshot.agents[0];
  write_errors(checker, agent.numbers);
  write_ping(checker, agent.numbers);
  write_load(checker, agent.numbers);
  write_times(checker, agent.numbers);
  write(checker, agent.latency);
  write(checker, agent.periods[0], Over::periods);
  const auto& shard = snapshot.tables[0].shards[0];
  write(checker, shard.budget);
  write(checker, shard.line);
  write_shares(checker, shard.mirrors[0]);
  write(checker, shard.mirrors[0].standing);
  write_since_start(checker, shard.mirrors[0]);
  write(checker, snapshot.tables[0].totals);
  write(checker, ProcessNumbers{});
  write_start(checker, snapshot.process);
  EXPECT_GT(checker.seen, 350U);
  EXPECT_EQ(checker.histograms, 2U);
}

TEST_F(MetricsOfAll, AreUniqueTypedAndGoByFamilies) {
  const auto text = metrics();
  const std::regex sample(
      R"re(((?:karmad|process)_[a-z_]+)(\{[a-z]+="([^"\\]|\\.)*"(,[a-z]+="([^"\\]|\\.)*")*\})? )re"
      R"re((-?[0-9.e+-]+|\+Inf))re");
  std::istringstream lines(text);
  std::set<std::string> families;
  std::set<std::string> samples;
  std::string family;
  std::string type;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark, what, name, rest;
    if (line.starts_with("# ")) {
      words >> mark >> what >> name;
      std::getline(words >> std::ws, rest);
      EXPECT_FALSE(rest.empty()) << line;
      if (what == "TYPE") type = rest;
      if (what == "HELP") {
        family = name;
        EXPECT_TRUE(families.insert(name).second) << "twice: " << name;
      }
      EXPECT_EQ(name, family);
      continue;
    }
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(line, parts, sample)) << line;
    if (type == "histogram") {
      EXPECT_TRUE(std::regex_match(parts.str(1), std::regex(family + "_(bucket|sum|count)")))
          << line;
    } else {
      EXPECT_EQ(parts[1], family) << line;
    }
    EXPECT_EQ(family.ends_with("_total"), type == "counter") << line;
    EXPECT_EQ(line.find("quantile=") != line.npos, type == "summary") << line;
    EXPECT_TRUE(samples.insert(parts.str(1) + parts.str(2)).second) << "twice: " << line;
  }
  EXPECT_GT(samples.size(), 350U);
  for (const auto* expected :
       {"karmad_uptime_seconds 3723.5\n",
        "karmad_connections_total 73\n",
        "karmad_bytes_in_total 0\n",
        "karmad_log_lines_written_total{log=\"access_log\"} 0\n",
        "karmad_pool_tickets{pool=\"update\"} 3\n",
        "karmad_agent_max_in_flight{agent=\"127.0.0.1:9322\"} +Inf\n",
        "karmad_pool_queued_time_seconds_total{pool=\"search\",priority=\"low\"} 0\n",
        "karmad_agent_ping_seconds{agent=\"127.0.0.1:9321\"} 0.000958\n",
        "karmad_agent_latency_seconds{agent=\"127.0.0.1:9321\",quantile=\"0.95\"} 0.002\n",
        "karmad_shard_waited_time_seconds_total{table=\"products\",shard=\"1\"} 0.03125\n",
        "karmad_mirror_connect_failures_total{table=\"products\",shard=\"1\",mirror=\"2\","
        "agent=\"127.0.0.1:9322\"} 11\n",
        "karmad_build_info{version=\"0.1.0\"} 1\n",
        "process_cpu_seconds_total 1.5\n",
        "process_resident_memory_bytes 1048576\n",
        "process_open_fds 7\n",
        "karmad_config_last_reload_failed 0\n",
        "karmad_attempt_results_total{reason=\"hedge\",result=\"cancelled\"} 0\n",
        "karmad_shard_info{table=\"products\",shard=\"1\",strategy=\"nodeads\",kind=\"roles\"} 1\n",
        "karmad_table_responses_total{table=\"products\",dialect=\"manticore\",code=\"200\"} 2\n",
        "karmad_table_responses_total{table=\"products\",dialect=\"manticore\",code=\"other\"} 1\n",
        "karmad_table_request_duration_seconds_bucket{table=\"products\",dialect=\"manticore\","
        "le=\"0.0005\"} 1\n",
        "karmad_table_request_duration_seconds_bucket{table=\"products\",dialect=\"manticore\","
        "le=\"30\"} 2\n",
        "karmad_table_request_duration_seconds_bucket{table=\"products\",dialect=\"manticore\","
        "le=\"+Inf\"} 3\n",
        "karmad_table_request_duration_seconds_sum{table=\"products\",dialect=\"manticore\"} "
        "31.001001\n",
        "karmad_table_attempt_duration_seconds_count{table=\"products\",dialect=\"manticore\"} 1\n",
        "karmad_table_rate_rejected_total{table=\"of \\\"\\\\\\n\"} 0\n"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
}

TEST_F(MetricsOfAll, AreAcceptedByPromtool) {
  if (std::system("command -v promtool >/dev/null") != 0) GTEST_SKIP() << "there is no promtool";
  auto* const promtool = ::popen("promtool check metrics 2>&1", "w");
  ASSERT_NE(promtool, nullptr);
  const auto text = metrics();
  std::fwrite(text.data(), 1, text.size(), promtool);
  EXPECT_EQ(::pclose(promtool), 0);
}

/// One row of the manual per metric: name, type, labels, help.
std::string reference_of(const std::string& text) {
  std::string out = "| metric | type | labels | |\n|---|---|---|---|\n";
  std::istringstream lines(text);
  std::string name, help, type;
  std::set<std::string> labels;
  const auto add_row = [&] {
    if (name.empty()) return;
    std::string all;
    for (const auto& label : labels) all += (all.empty() ? "`" : ", `") + label + "`";
    out += "| `" + name + "` | " + type + " | " + all + " | " + help + " |\n";
    labels.clear();
  };
  static const std::regex label("([a-z]+)=\"");  // of a histogram also `le`
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark, what;
    if (line.starts_with("# HELP ")) {
      add_row();
      std::getline(words >> mark >> what >> name >> std::ws, help);
    } else if (line.starts_with("# TYPE ")) {
      words >> mark >> what >> name >> type;
    } else {
      for (std::sregex_iterator at(line.begin(), line.end(), label), end; at != end; ++at)
        labels.insert((*at)[1]);
    }
  }
  add_row();
  return out;
}

// KARMAD_UPDATE_DOCS=1 rewrites the table instead of comparing it.
TEST_F(MetricsOfAll, StandInTheManual) {
  const std::string file = KARMAD_SOURCE_DIR "/docs/metrics.md";
  const std::string mark = "<!-- generated by test_balancer -->\n";
  std::ostringstream read;
  read << std::ifstream(file).rdbuf();
  auto text = read.str();
  ASSERT_NE(text.find(mark), std::string::npos) << file;
  const auto from = text.find(mark) + mark.size();
  const auto wanted = "\n" + reference_of(metrics());
  if (std::getenv("KARMAD_UPDATE_DOCS") != nullptr) {
    std::ofstream(file) << text.substr(0, from) << wanted;
    return;
  }
  EXPECT_EQ(text.substr(from), wanted)
      << "to rewrite it: KARMAD_UPDATE_DOCS=1 test_balancer --gtest_filter='MetricsOfAll.*'";
}

TEST_F(MetricsOfAll, ShowStatusHasEachOfItsKeysOnce) {
  const auto snapshot = everything();
  std::map<std::string, int> keys;
  status_rows(snapshot, [&](const std::string& key, const std::string&, bool) { ++keys[key]; });
  for (const auto& [key, times] : keys) EXPECT_EQ(times, 1) << key;
}

/// Needs no memory itself.
class Adder final : public StatsWriter {
 public:
  double sum = 0;

 private:
  void put(const Stat&, const StatValue& value, std::span<const Label>) override {
    if (const auto* count = std::get_if<std::uint64_t>(&value.get()))
      sum += static_cast<double>(*count);
  }
};

TEST_F(MetricsOfAll, ANumberIsWrittenWithoutAllocating) {
  const auto snapshot = everything();
  Adder adder;
  const auto before = test::allocations();
  write_counters(adder, snapshot.process);
  write(adder, snapshot.tables[0].shards[0].mirrors[0].since_start, Over::life);
  write_load(adder, snapshot.agents[0].numbers);
  write(adder, admission->searches.statistics());
  EXPECT_EQ(test::allocations() - before, 0U);
  EXPECT_GT(adder.sum, 0);
}

}  // namespace
}  // namespace karmad
