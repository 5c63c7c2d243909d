#include "demo/switches.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>

#include "demo/control.hpp"
#include "demo/wire.hpp"

namespace karmad::demo {
namespace {

using namespace std::chrono_literals;

Switches switched(std::initializer_list<std::pair<std::string_view, std::string_view>> changes) {
  Switches out;
  for (const auto& [name, value] : changes)
    if (const auto problem = change(out, name, value)) ADD_FAILURE() << *problem;
  return out;
}

TEST(Switches, RefuseUnknownNamesAndValuesInWords) {
  Switches switches;
  EXPECT_NE(change(switches, "mood", "ok")->find("unknown switch 'mood'"), std::string::npos);
  for (const auto& [name, value] :
       {std::pair{"mode", "sulk"}, std::pair{"latency", "exp"}, std::pair{"latency", "uniform:5:1"},
        std::pair{"stall", "9:1"}, std::pair{"error_rate", "2"}, std::pair{"overload", ""},
        std::pair{"overload_status", "500"}, std::pair{"for", "-1"},
        std::pair{"latency", "fixed:nan"}})
    EXPECT_NE(change(switches, name, value).value_or("").find("cannot be"), std::string::npos)
        << name << value;
  EXPECT_EQ(write_switches(switches), write_switches({}));
}

TEST(Switches, EachIsExplainedInHelpAndDocument) {
  std::ostringstream document;
  document << std::ifstream(KARMAD_SOURCE_DIR "/docs/demo.md").rdbuf();
  for (const auto& help : switch_help()) {
    EXPECT_FALSE(help.meaning.empty()) << help.name;
    EXPECT_NE(document.str().find(fmt::format("| `{}` |", help.name)), std::string::npos)
        << help.name;
  }
  std::string modes(switch_help()[0].value);
  for (std::size_t at = 0; at < modes.size();) {
    const auto end = std::min(modes.find('|', at), modes.size());
    const auto mode = modes.substr(at, end - at);
    EXPECT_NE(document.str().find("`" + mode + "`"), std::string::npos) << mode;
    Switches switches;
    EXPECT_EQ(change(switches, "mode", mode), std::nullopt) << mode;
    at = end + 1;
  }
}

TEST(Switches, LatenciesHaveTheirMeans) {
  struct Case {
    std::string_view latency;
    double mean;
  };
  for (const auto& [latency, mean] :
       {Case{"none", 0}, Case{"fixed:7", 7}, Case{"exp:20", 20}, Case{"uniform:10:30", 20}}) {
    const auto switches = switched({{"latency", latency}});
    Dice dice{1};
    double sum = 0;
    for (int i = 0; i < 20'000; ++i)
      sum += decide(switches, Purpose::search, 0ms, dice).wait.count();
    EXPECT_NEAR(sum / 20'000, mean, mean * 0.03) << latency;  // about four standard errors
  }
}

TEST(Switches, AStallEndsWithItsPause) {
  const auto switches = switched({{"stall", "200:2000"}});
  Dice dice{1};
  struct Case {
    Millis since, wait;
  };
  for (const auto& [since, wait] : {Case{0ms, 200ms}, Case{150ms, 50ms}, Case{200ms, 0ms},
                                    Case{1999ms, 0ms}, Case{2100ms, 100ms}})
    EXPECT_DOUBLE_EQ(decide(switches, Purpose::search, since, dice).wait.count(), wait.count());
}

TEST(Switches, RatesMeetTheirShare) {
  const auto switches = switched({{"mode", "reset"}, {"mode_rate", "0.25"}, {"error_rate", "0.1"}});
  Dice dice{1};
  int resets = 0;
  int errors = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto effects = decide(switches, Purpose::search, 0ms, dice);
    resets += effects.mode == Mode::reset;
    errors += effects.error;
  }
  EXPECT_NEAR(resets, 2500, 175);  // four standard deviations
  EXPECT_NEAR(errors, 1000, 120);
}

TEST(Switches, CanSparePings) {
  const auto switches = switched({{"mode", "blackhole"}, {"pings", "0"}, {"latency", "fixed:5"}});
  Dice dice{1};
  EXPECT_EQ(decide(switches, Purpose::ping, 0ms, dice).mode, Mode::ok);
  EXPECT_EQ(decide(switches, Purpose::ping, 0ms, dice).wait.count(), 0);
  EXPECT_EQ(decide(switches, Purpose::search, 0ms, dice).mode, Mode::blackhole);
}

TEST(Control, ForgetsSwitchesWhenTheirTimeIsOver) {
  Control control{R"("name":"x")", 1};
  const auto start = Control::Clock::time_point{} + 1h;
  EXPECT_EQ(control.answer("mode=blackhole&for=5", "", false, start).answer.status, 200);
  EXPECT_EQ(control.current(start + 4s).mode, Mode::blackhole);
  EXPECT_EQ(control.current(start + 5s).mode, Mode::ok);
}

TEST(Control, TakesQueryAndJsonAndResetsFirst) {
  Control control{R"("name":"x")", 1};
  const auto now = Control::Clock::time_point{} + 1h;
  control.answer("error_rate=0.5", "", false, now);
  const auto done =
      control.answer("", R"({"latency":"exp:20","overload":1,"reset":true})", false, now);
  EXPECT_TRUE(done.changed);
  EXPECT_EQ(control.current(now).error_rate, 0);
  EXPECT_EQ(control.current(now).overload, 1);
  EXPECT_EQ(control.current(now).latency.first, 20);
  EXPECT_FALSE(control.answer("", "", false, now).changed);
}

TEST(Control, ChangesNothingWhenOneSwitchIsWrong) {
  Control control{R"("name":"x")", 1};
  const auto now = Control::Clock::time_point{} + 1h;
  EXPECT_EQ(control.answer("error_rate=1&mode=sulk", "", false, now).answer.status, 400);
  EXPECT_EQ(control.answer("", "[", false, now).answer.status, 400);
  EXPECT_EQ(control.current(now).error_rate, 0);
}

TEST(Control, DoesNotLockItselfOut) {
  Control control{R"("name":"x")", 1};
  const auto now = Control::Clock::time_point{} + 1h;
  EXPECT_EQ(control.answer("mode=refuse", "", true, now).answer.status, 400);
  EXPECT_EQ(control.answer("mode=refuse&for=1", "", true, now).answer.status, 200);
  EXPECT_EQ(control.answer("mode=refuse&for=0", "", false, now).answer.status, 200);
}

TEST(Control, ShowsWhatItSaw) {
  Control control{R"("name":"x")", 1};
  const auto now = Control::Clock::time_point{} + 1h;
  control.decide(Purpose::search, {"/search", "250", "{}"}, now);
  control.decide(Purpose::ping, {"/", "", ""}, now);
  const auto text = control.answer("", "", false, now).answer.body;
  EXPECT_NE(text.find(R"("search":1,"sql":0,"ping":1)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("timeout_ms":"250")"), std::string::npos) << text;
}

TEST(Wire, WritesTheHeadOfAnAnswer) {
  const auto sent = deliver({200, "{}", {}}, Mode::ok, {.name = "a1"});
  EXPECT_EQ(sent.bytes, "HTTP/1.1 200 OK\r\nServer: karmad-demo-agent/" KARMAD_VERSION
                        "\r\nContent-Type: application/json; charset=UTF-8\r\nContent-Length: 2\r\n"
                        "X-Demo-Agent: a1\r\n\r\n{}");
  EXPECT_EQ(sent.after, After::keep);
}

TEST(Wire, SparesTheBodyOfHeadAndNamesWhatClients10Need) {
  const auto head = deliver({405, "{}", "GET"}, Mode::ok, {.name = "a", .head = true}).bytes;
  EXPECT_TRUE(head.ends_with("Allow: GET\r\n\r\n")) << head;
  const auto old = deliver({200, "{}", {}}, Mode::chunked, {.name = "a", .http10 = true}).bytes;
  EXPECT_NE(old.find("Content-Length: 2\r\n"), std::string::npos);
  EXPECT_NE(old.find("Connection: keep-alive\r\n"), std::string::npos);
}

TEST(Wire, DisturbsAnswersAsNamed) {
  const HttpAnswer answer{200, std::string(300, 'x'), {}};
  const WireOptions options{.name = "a"};
  const auto whole = deliver(answer, Mode::ok, options).bytes;
  struct Case {
    Mode mode;
    std::string_view length;
    std::ptrdiff_t missing;  // bytes of the body
    After after;
  };
  for (const auto& [mode, length, missing, after] :
       {Case{Mode::close_within, "300", 151, After::close},
        Case{Mode::close_after, "300", 0, After::close},
        Case{Mode::truncated, "150", 150, After::keep},
        Case{Mode::short_body, "400", 0, After::silence},
        Case{Mode::long_body, "150", 0, After::keep}}) {
    const auto sent = deliver(answer, mode, options);
    EXPECT_NE(sent.bytes.find("Content-Length: " + std::string(length) + "\r\n"), std::string::npos)
        << name_of(mode);
    EXPECT_EQ(static_cast<std::ptrdiff_t>(whole.size() - sent.bytes.size()), missing)
        << name_of(mode);
    EXPECT_EQ(sent.after, after) << name_of(mode);
  }
  EXPECT_TRUE(deliver(answer, Mode::blackhole, options).bytes.empty());
  EXPECT_EQ(deliver(answer, Mode::reset, options).after, After::reset);
  EXPECT_FALSE(deliver(answer, Mode::not_http, options).bytes.starts_with("HTTP/"));
  const auto chunked = deliver(answer, Mode::chunked, options).bytes;
  EXPECT_TRUE(chunked.ends_with("\r\n0\r\n\r\n"));
  EXPECT_NE(chunked.find("\r\n\r\n64\r\nxxx"), std::string::npos);
}

}  // namespace
}  // namespace karmad::demo
