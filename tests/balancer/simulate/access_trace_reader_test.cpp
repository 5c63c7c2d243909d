#include "balancer/simulate/replay/access_trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "balancer/trace/trace_json.hpp"

namespace karmad::simulate {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kReplayBegan{1s};
constexpr std::chrono::system_clock::time_point kFirstRequest(1'700'000'000s);

struct LoggedTry {
  std::string_view mirror = "a:1";
  Micros took = 5ms;
  Outcome outcome = Outcome::answered;
  std::uint32_t shard = 1;
  int status = 0;
};

/// A line as the program writes it.
std::string access_line(std::uint64_t id, Micros at, const std::vector<LoggedTry>& tries,
                        const Access& access = {.status = 200},
                        std::string_view operation = "search") {
  Trace trace;
  trace.id = id;
  trace.began = kReplayBegan;
  trace.operation = operation;
  trace.table = "products";
  Micros start = 10us;
  for (const auto& one : tries) {
    trace.begin({.shard = one.shard, .mirror = one.mirror, .at = kReplayBegan + start})
        .end(kReplayBegan + start + one.took, one.outcome, "", one.status);
    start += one.took;
  }
  auto with_time = access;
  with_time.time = kFirstRequest + at;
  std::string line;
  append_access_json(line, trace, kReplayBegan + start, with_time);
  return line + "\n";
}

std::expected<AccessTrace, std::string> read_log(const std::string& log) {
  std::istringstream in(log);
  return read_access_trace(in);
}

AccessTrace read_good_log(const std::string& log) {
  auto trace = read_log(log);
  EXPECT_TRUE(trace) << trace.error();
  return trace ? *std::move(trace) : AccessTrace();
}

/// Of the first recorded shard.
const RecordedMirror& mirror_of(const AccessTrace& trace, std::string_view address) {
  const auto& set = trace.sets.at(0);
  const auto found = std::ranges::find(set.addresses, address);
  return set.mirrors.at(static_cast<std::size_t>(found - set.addresses.begin()));
}

std::vector<std::uint32_t> recorded_shards(const AccessTrace& trace) {
  std::vector<std::uint32_t> shards;
  for (const auto& set : trace.sets) shards.push_back(set.shard);
  return shards;
}

TEST(AccessTrace, HasTheArrivalsAndTheAttemptsOfEachMirror) {
  const auto trace =
      read_good_log(access_line(1, 0s, {{"a:1", 5ms, Outcome::agent_error, 1, 503}, {"b:2", 3ms}}) +
                    access_line(2, 20ms, {{.mirror = "a:1"}, {.mirror = "c:3", .shard = 2}}));
  EXPECT_EQ(trace.tables, std::vector<std::string>{"products"});
  EXPECT_EQ(trace.arrivals, (std::vector<RecordedArrival>{{0us, 0, 1, 1}, {20ms, 0, 2, 1}}));
  ASSERT_EQ(trace.sets.size(), 2U);
  EXPECT_EQ(trace.sets[0].addresses, (std::vector<std::string>{"a:1", "b:2"}));
  const auto attempts = mirror_of(trace, "a:1").attempts();
  EXPECT_EQ(std::vector(attempts.begin(), attempts.end()),
            (std::vector<RecordedAttempt>{{10us, 5000, 503, Outcome::agent_error},
                                          {20'010us, 5000, 0, Outcome::answered}}));
  EXPECT_EQ(recorded_shards(trace), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(trace.sets[1].mirrors[0].attempts().size(), 1U);
  EXPECT_EQ(trace.counts.attempts, 4U);
  EXPECT_TRUE(notes_on(trace.counts).empty());
}

TEST(AccessTrace, SortsLinesByTheArrivalOfTheirRequests) {
  const auto trace =
      read_good_log(access_line(2, 1500ms, {{}}) + access_line(1, 1s, {{.took = 1s}}));
  EXPECT_EQ(trace.arrivals[1].at, 500ms);
  EXPECT_EQ(mirror_of(trace, "a:1").attempts()[0].took_us, 1'000'000U);
  EXPECT_EQ(trace.counts.backward_steps, 0U) << "the long request ended last";
}

TEST(AccessTrace, ReportsAClockThatGoesBack) {
  const auto trace = read_good_log(access_line(1, 60s, {{}}) + access_line(2, 10s, {{}}) +
                                   access_line(3, 11s, {{}}));
  EXPECT_EQ(trace.counts.backward_steps, 1U);
  EXPECT_EQ(trace.arrivals.size(), 3U);
  EXPECT_EQ(trace.arrivals.back().at, 50s);
  ASSERT_EQ(notes_on(trace.counts).size(), 1U);
  EXPECT_TRUE(notes_on(trace.counts)[0].starts_with("1 time the clock of the log goes back"));
}

TEST(AccessTrace, UsesARepeatedLineOnce) {
  const auto log = access_line(1, 0s, {{}}) + access_line(2, 0s, {{}});
  const auto trace = read_good_log(log + log);
  EXPECT_EQ(trace.arrivals.size(), 2U);
  EXPECT_EQ(trace.counts.duplicates, 2U);
  EXPECT_EQ(mirror_of(trace, "a:1").attempts().size(), 2U);
}

TEST(AccessTrace, HasNoSetOfWhichOnlyRepeatedLinesTell) {
  const auto trace = read_good_log(access_line(1, 0s, {{}}) + access_line(1, 0s, {{.shard = 7}}));
  EXPECT_EQ(recorded_shards(trace), std::vector<std::uint32_t>{1});
}

TEST(AccessTrace, LeavesOutRequestsThatItCannotReplay) {
  const auto trace = read_good_log(access_line(1, 0s, {}, {.status = 429}) +
                                   access_line(2, 0s, {{}}, {.status = 200}, "json/bulk") +
                                   access_line(3, 0s, {{.outcome = Outcome::local_error}, {}}) +
                                   access_line(4, 0s, {{.outcome = Outcome::local_error}}));
  EXPECT_EQ(trace.arrivals.size(), 1U);
  EXPECT_EQ(trace.counts.without_attempts, 2U);
  EXPECT_EQ(trace.counts.updates, 1U);
  EXPECT_EQ(trace.counts.unusable_attempts, 2U);
}

TEST(AccessTrace, KnowsHowManyRequestsALineOfASampleStandsFor) {
  const auto trace = read_good_log(access_line(1, 0s, {{}}, {.status = 200, .sample = 0.25}) +
                                   access_line(2, 1ms, {{"a:1", 2s, Outcome::query_timeout}}));
  EXPECT_EQ(trace.arrivals[0].weight, 4);
  EXPECT_EQ(trace.counts.sampled, 1U);
  // Four answered requests, one of which was written, and one that timed out.
  EXPECT_EQ(mirror_of(trace, "a:1").at(0s, 0.79).outcome, Outcome::answered);
  EXPECT_EQ(mirror_of(trace, "a:1").at(0s, 0.81).outcome, Outcome::query_timeout);
}

TEST(AccessTrace, RestoresTheArrivalsThatASampleLeftOut) {
  std::string log;
  for (std::uint64_t i = 0; i < 1000; ++i)
    log += access_line(i, i * 10ms, {{}}, {.status = 200, .sample = 0.1});
  SeededRandom random(1);
  const auto trace = read_good_log(log);
  const auto arrivals = restore_arrivals(trace, random);
  ASSERT_TRUE(arrivals);
  EXPECT_EQ(arrivals->size(), 10'000U);
  EXPECT_TRUE(std::ranges::is_sorted(*arrivals, {}, &RecordedArrival::at));
  EXPECT_TRUE(std::ranges::all_of(*arrivals, [](auto& one) { return one.weight == 1; }));
  for (auto from = 500ms; from < 9s; from += 500ms) {
    const auto count = std::ranges::count_if(
        *arrivals, [&](auto& one) { return one.at >= from && one.at < from + 500ms; });
    EXPECT_NEAR(static_cast<double>(count), 500, 100);
  }
  SeededRandom same(1);
  EXPECT_EQ(restore_arrivals(trace, same), arrivals) << "the seed decides";
}

TEST(AccessTrace, RefusesToRestoreTooManyArrivals) {
  std::string log;
  for (std::uint64_t i = 0; i < 17; ++i)
    log += access_line(i, i * 1ms, {{}}, {.status = 200, .sample = kSmallestSample});
  SeededRandom random(1);
  EXPECT_FALSE(restore_arrivals(read_good_log(log), random));
}

TEST(AccessTrace, SaysWhyThereIsNothingToReplay) {
  EXPECT_EQ(read_log("").error(), "the access log is empty");
  EXPECT_EQ(
      read_log("2023-11-14T22:13:20.000042Z 127.0.0.1 POST /search 200 answered\n{}\n").error(),
      "the access log has nothing to replay in 2 lines: not JSON of an access log: 2; too long: 0; "
      "requests that change data: 0; without a table or a complete attempt: 0; access_log_format "
      "must be json");
}

TEST(AccessTrace, SkipsLinesThatAreNotOfAnAccessLog) {
  using namespace std::string_literals;
  const auto good = access_line(1, 0s, {{}});
  const auto changed = [&](std::string_view from, std::string_view to) {
    auto line = good;
    line.replace(line.find(from), from.size(), to);
    return line;
  };
  const std::string lines[] = {
      good.substr(0, good.size() / 2) + "\n",
      good.substr(0, good.size() - 2) + "\n",
      changed("}]}", "}]} x"),
      "\0\0\0\n"s,
      changed("products", "pro\0ducts"s),
      std::string(50'000, '[') + "\n",
      changed(R"("attempts")", R"("x":)" + std::string(30'000, '[') + R"(,"attempts")"),
      changed(R"("attempts")", R"("tries")"),
      changed(R"("time")", R"("date")"),
      changed("2023-11", "2023-13"),
      changed("22:13:20.000000Z", "24:13:20.000000Z"),
      changed("22:13:20.000000Z", "22:13:20Z"),
      changed(R"("id":1)", R"("id":"1")"),
      changed(R"("id":1)", R"("id":99999999999999999999999)"),
      changed(R"("shard":1)", R"("shard":-1)"),
      changed(R"("shard":1)", R"("shard":0)"),
      changed(R"("mirror":"a:1")", R"("mirror":{"a":1})"),
      changed(R"("start_us":10)", R"("start_us":1e3)"),
      changed(R"("start_us":10)", R"("start_us":99999999999)"),
      changed(R"("outcome":"answered")", R"("outcome":"eaten")"),
      changed(R"("outcome":"answered")", R"("outcome":"agent error","status":70000)"),
      changed(R"("partial":false)", R"("partial":false,"sample":0)"),
      changed(R"("partial":false)", R"("partial":false,"sample":1e-9)"),
      changed(R"("partial":false)", R"("partial":false,"sample":nan)"),
      "null\n",
      "[]\n",
      "\xff\xfe\n",
  };
  std::string log = good;
  for (const auto& line : lines) {
    std::istringstream in(line);
    EXPECT_FALSE(read_access_trace(in)) << line.substr(0, 400);
    log += line;
  }
  const auto trace = read_good_log(log + "\n\n" + access_line(2, 1ms, {{}}));
  EXPECT_EQ(trace.arrivals.size(), 2U);
  EXPECT_EQ(trace.counts.other_lines, std::size(lines));
}

TEST(AccessTrace, AllowsFurtherMembersAndSpace) {
  auto line = access_line(1, 0s, {{}});
  line.replace(line.find(R"("id")"), 4, R"("new":{"deep":[[1,{}]]} , "id")");
  line.replace(line.find(R"("outcome")"), 9, R"("later":[null,"x"],"outcome")");
  line.insert(line.size() - 1, " \r");
  EXPECT_EQ(read_good_log(line).arrivals.size(), 1U);
}

TEST(AccessTrace, ReadsNamesWithEscapes) {
  auto line = access_line(1, 0s, {{.mirror = "\xc3\xa4:1"}});
  line.replace(line.find("products"), 8, R"(pro\u0064ucts)");
  const auto trace = read_good_log(line);
  EXPECT_EQ(trace.tables[0], "products");
  EXPECT_EQ(trace.sets[0].addresses[0], "\xc3\xa4:1");
}

TEST(AccessTrace, SkipsALongLineInBoundedMemory) {
  const auto good = access_line(1, 0s, {{}});
  const auto at_limit = std::string(kLongestAccessLine - good.size() + 1, ' ') + good;
  const auto trace = read_good_log(std::string(5 << 20, 'x') + "\n" + at_limit + " " + at_limit +
                                   std::string(2 << 20, '{'));
  EXPECT_EQ(trace.counts.long_lines, 3U);
  EXPECT_EQ(trace.counts.lines, 4U);
  EXPECT_EQ(trace.arrivals.size(), 1U);
}

TEST(AccessTrace, ReadsALastLineWithoutItsEnd) {
  const auto line = access_line(1, 0s, {{}});
  EXPECT_EQ(read_good_log(line.substr(0, line.size() - 1)).arrivals.size(), 1U);
}

TEST(AccessTrace, ReadsLinesAcrossBlocks) {
  std::string log;
  for (std::uint64_t i = 0; i < 10'000; ++i) log += access_line(i, i * 1ms, {{}});
  ASSERT_GT(log.size(), 3U << 20);
  const auto trace = read_good_log(log);
  EXPECT_EQ(trace.arrivals.size(), 10'000U);
  EXPECT_EQ(trace.counts.other_lines, 0U);
}

TEST(AccessTrace, LimitsTheMirrorsOfASet) {
  std::string log;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto name = fmt::format("host{}:1", i);
    log += access_line(i, i * 1ms, {{.mirror = name}});
  }
  const auto trace = read_good_log(log);
  EXPECT_EQ(trace.sets[0].mirrors.size(), kMostRecordedMirrors);
  EXPECT_EQ(trace.counts.attempts_over_limit, 300 - kMostRecordedMirrors);
}

}  // namespace
}  // namespace karmad::simulate
